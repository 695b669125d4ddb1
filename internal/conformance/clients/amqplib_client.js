// amqplib for node: default settings, then the frame size of its old releases
// (checklist 123, 127).
const amqp = require('amqplib');
const assert = require('assert');

async function once(url) {
  const conn = await amqp.connect(url);
  const ch = await conn.createConfirmChannel();
  const { queue } = await ch.assertQueue('amqplib-q', { durable: true, arguments: { 'x-max-length': 500 } });
  await ch.purgeQueue(queue);
  const big = Buffer.alloc(300000, 'x');
  for (let i = 0; i < 200; i++) ch.sendToQueue(queue, Buffer.from('m' + i), { persistent: true, headers: { i } });
  ch.sendToQueue(queue, big, { persistent: true });
  await ch.waitForConfirms();
  await ch.prefetch(20);
  let n = 0;
  await new Promise((resolve, reject) => {
    ch.consume(queue, (m) => {
      try {
        if (n < 200) assert.strictEqual(m.content.toString(), 'm' + n);
        else assert.ok(m.content.equals(big));
        ch.ack(m);
        if (++n === 201) resolve();
      } catch (e) { reject(e); }
    }).catch(reject);
  });
  const rpc = await conn.createChannel();
  const answer = new Promise((resolve) => rpc.consume('amq.rabbitmq.reply-to', (m) => resolve(m), { noAck: true }));
  await rpc.checkExchange('amq.direct');
  rpc.sendToQueue(queue, Buffer.from('ask'), { replyTo: 'amq.rabbitmq.reply-to', correlationId: '42' });
  const ask = await new Promise((resolve) => {
    const poll = async () => { const m = await rpc.get(queue, { noAck: true }); m ? resolve(m) : setImmediate(poll); };
    ch.close().then(poll);
  });
  rpc.sendToQueue(ask.properties.replyTo, Buffer.from('answer'), { correlationId: ask.properties.correlationId });
  const got = await answer;
  assert.strictEqual(got.content.toString(), 'answer');
  assert.strictEqual(got.properties.correlationId, '42');
  await rpc.deleteQueue(queue);
  await conn.close();
}

(async () => {
  await once(process.env.AMQP_URL);
  await once(process.env.AMQP_URL + '?frameMax=4096');
})().catch((e) => { console.error(e); process.exit(1); });
