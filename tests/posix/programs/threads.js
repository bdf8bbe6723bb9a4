// SPDX-License-Identifier: Apache-2.0
// threads.js - Node: workers, and libuv's thread pool, used by crypto, DNS, zlib and files
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { promisify } = require('util');
const pbkdf2 = promisify(require('crypto').pbkdf2);
const gzip = promisify(require('zlib').gzip);
const lookup = require('dns').promises.lookup;
const fs = require('fs').promises;

function worked(i) {
	return new Promise((done) => {
		let said;
		const w = new Worker(__filename, { workerData: i });
		w.on('message', (sum) => { said = sum; });
		w.on('exit', () => done(said));
	});
}

async function main() {
	const n = [...Array(8).keys()];
	console.log((await Promise.all(n.map(worked))).join());
	const keys = await Promise.all(n.map((i) => pbkdf2('a', 'b' + i, 1000, 32, 'sha256')));
	console.log(keys.map((k) => k.toString('hex')).join());
	console.log(!!(await lookup('localhost')).address);
	console.log((await gzip(Buffer.alloc(1e6))).length);
	console.log((await fs.readFile('/etc/passwd')).length > 10);
}

if (isMainThread) {
	main();
} else {
	let sum = 0;
	for (let i = 0; i < 1e6; i++)
		sum += i % (workerData + 2);
	parentPort.postMessage(sum);
}
