# A Celery worker in a process of its own and a caller: acks late, a retry with a
# countdown, results over RPC reply queues (checklist 123, 125).
import os
import subprocess
import sys
from celery import Celery

app = Celery("celery_client", broker=os.environ["AMQP_URL"], backend="rpc://")
app.conf.task_acks_late = True
app.conf.worker_prefetch_multiplier = 2
app.conf.broker_connection_retry_on_startup = True
app.conf.task_default_queue = "celery-mayfly"


@app.task
def add(a, b):
    return a + b


@app.task(bind=True, max_retries=3)
def flaky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0.1)
    return self.request.retries


if __name__ == "__main__":
    command = [sys.executable, "-m", "celery", "-A", "celery_client", "worker", "--pool", "solo", "--loglevel", "ERROR"]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    import celery_client  # the worker knows the tasks by this name, not by __main__

    try:
        results = [celery_client.add.delay(i, i) for i in range(50)]
        assert [r.get(timeout=40) for r in results] == [2 * i for i in range(50)]
        assert celery_client.flaky.delay().get(timeout=40) == 2
    finally:
        worker.kill()
        worker.wait()
