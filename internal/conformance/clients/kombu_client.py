# py-amqp alone, then kombu on it: what Celery's workers are made of (checklist 123).
import os
import socket
import amqp
from kombu import Connection, Exchange, Producer, Queue

url = os.environ["AMQP_URL"]
host = url.split("@")[1].rstrip("/")
with amqp.Connection(host, userid="guest", password="guest", virtual_host="/", confirm_publish=True) as c:
    ch = c.channel()
    q, ready, consumers = ch.queue_declare("pyamqp-q", durable=True, auto_delete=False)
    assert (ready, consumers) == (0, 0), (ready, consumers)
    ch.basic_publish_confirm(amqp.Message("hello", delivery_mode=2, application_headers={"k": [1, "two", {"three": 3.5}]}), routing_key=q)
    m = ch.basic_get(q)
    assert m.body == "hello" and m.headers["k"][2]["three"] == 3.5, (m.body, m.headers)
    ch.basic_ack(m.delivery_tag)
    ch.queue_delete(q)

with Connection(url, heartbeat=5) as conn:
    x = Exchange("kombu-x", "direct", durable=True)
    q = Queue("kombu-q", x, routing_key="k", max_priority=9)
    got = []
    producer = Producer(conn.channel(), exchange=x)
    q(conn.channel()).declare()
    for p in range(10):
        producer.publish({"p": p}, routing_key="k", priority=p, serializer="json")

    def take(body, message):
        got.append(body["p"])
        message.ack()

    with conn.Consumer(q, callbacks=[take], prefetch_count=1):
        while len(got) < 10:
            try:
                conn.drain_events(timeout=10)
            except socket.timeout:
                raise SystemExit("kombu got only %r" % got)
    assert sorted(got) == list(range(10)), got
    conn.heartbeat_check()
    fan = Exchange("kombu-fan", "fanout")
    with conn.SimpleQueue(Queue("", fan, exclusive=True)) as s:
        Producer(conn.channel(), exchange=fan).publish("broadcast")
        assert s.get(timeout=10).payload == "broadcast"
    q(conn.channel()).delete()
    x(conn.channel()).delete()
