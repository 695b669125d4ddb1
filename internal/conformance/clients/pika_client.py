# pika with its default settings: confirms, mandatory returns, consume, get,
# redelivery, server-named queues (checklist 123, 126).
import os
import pika
from pika.exceptions import ChannelClosedByBroker, UnroutableError

params = pika.URLParameters(os.environ["AMQP_URL"])
conn = pika.BlockingConnection(params)
ch = conn.channel()
ch.confirm_delivery()
q = ch.queue_declare("pika-q", durable=True, arguments={"x-max-length": 1000}).method.queue
ch.queue_purge(q)
for i in range(500):
    ch.basic_publish("", q, b"m%d" % i, pika.BasicProperties(delivery_mode=2, headers={"n": i}, message_id=str(i)))

try:
    ch.basic_publish("", "pika-no-such-queue", b"x", mandatory=True)
    raise SystemExit("mandatory publish to nowhere was not returned")
except UnroutableError:
    pass

method, props, body = ch.basic_get(q)
assert body == b"m0" and props.headers["n"] == 0 and method.message_count == 499, (body, props, method)
ch.basic_nack(method.delivery_tag, requeue=True)

ch.basic_qos(prefetch_count=50)
seen = []
for method, props, body in ch.consume(q, inactivity_timeout=10):
    assert method is not None, "deliveries stopped at %d" % len(seen)
    if not seen:
        assert method.redelivered and body == b"m0", (method, body)
    seen.append(body)
    ch.basic_ack(method.delivery_tag)
    if len(seen) == 500:
        break
assert seen == [b"m%d" % i for i in range(500)]
ch.cancel()
assert ch.queue_declare(q, passive=True).method.message_count == 0

name = ch.queue_declare("", exclusive=True).method.queue
assert name.startswith("amq.gen-"), name
ch.exchange_declare("pika-topic", "topic")
ch.queue_bind(name, "pika-topic", "a.*.c")
ch.basic_publish("pika-topic", "a.b.c", b"routed")
assert ch.basic_get(name, auto_ack=True)[2] == b"routed"

bad = conn.channel()
try:
    bad.queue_declare("pika-q", durable=False)
    raise SystemExit("inequivalent declare was accepted")
except ChannelClosedByBroker as e:
    assert e.reply_code == 406 and "inequivalent arg 'durable'" in e.reply_text, e
ch.queue_delete(q)
ch.exchange_delete("pika-topic")
conn.close()
