# Bunny with its default settings (checklist 123).
require "bunny"
require "timeout"

conn = Bunny.new(ENV["AMQP_URL"])
conn.start
ch = conn.create_channel
ch.confirm_select
q = ch.queue("bunny-q", durable: true)
q.purge
100.times { |i| q.publish("m#{i}", persistent: true, headers: { "i" => i }) }
raise "not confirmed" unless ch.wait_for_confirms
raise "count #{q.message_count}" unless q.message_count == 100

got = Queue.new
ch.prefetch(10)
consumer = q.subscribe(manual_ack: true) do |info, props, body|
  got << [body, props.headers["i"]]
  ch.ack(info.delivery_tag)
end
100.times do |i|
  body, n = Timeout.timeout(10) { got.pop }
  raise "message #{i}: #{body.inspect}" unless body == "m#{i}" && n == i
end
consumer.cancel

reply = ch.queue("", exclusive: true)
x = ch.topic("bunny-topic", auto_delete: true)
reply.bind(x, routing_key: "a.#")
x.publish("hi", routing_key: "a.b.c")
raise "no confirm" unless ch.wait_for_confirms
_, _, body = reply.pop
raise "got #{body.inspect}" unless body == "hi"

begin
  conn.create_channel.queue("bunny-q", durable: false)
  raise "inequivalent declare was accepted"
rescue Bunny::PreconditionFailed => e
  raise e unless e.message.include?("inequivalent arg 'durable'")
end

wrong = ENV["AMQP_URL"].sub("guest:guest", "guest:wrong")
begin
  Bunny.new(wrong, recover_from_connection_close: false, log_level: :fatal).start
  raise "a wrong password was accepted"
rescue Bunny::AuthenticationFailureError
end
q.delete
conn.close
