// SPDX-License-Identifier: Apache-2.0
int said;

synchronized void say(String what) {
	said++;
	IO.println(said + " " + what);
	notifyAll();
}

synchronized void await(int n) throws InterruptedException {
	while (said < n)
		wait();
}

void main() throws InterruptedException {
	var other = new Thread(() -> say(Thread.currentThread().getName()), "other");
	other.start();
	await(1);
	say(Thread.currentThread().getName() + " of " + getClass().getName());
	other.join();
}
