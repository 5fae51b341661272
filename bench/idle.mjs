// idle.mjs PID URL COUNT: opens COUNT HTTP/2 connections, makes one request on each, and prints how
// many bytes of resident memory the server has gained per connection while they are idle.
import http2 from 'node:http2';
import fs from 'node:fs';

const [pid, url, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];

function resident() {
	const line = fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+) kB/m);
	return Number(line[1]) * 1024;
}

function open() {
	return new Promise((resolve, reject) => {
		const session = http2.connect(url, { rejectUnauthorized: false });
		session.on('error', reject);
		const request = session.request({ ':path': '/healthz' });
		request.on('error', reject);
		request.on('end', () => resolve(session));
		request.resume();
	});
}

async function openMany(n) {
	const sessions = [];
	while (sessions.length < n)
		sessions.push(...await Promise.all(Array.from({ length: Math.min(50, n - sessions.length) }, open)));
	return sessions;
}

// The first connections pay for what all share.
const warm = await openMany(100);
const before = resident();
const sessions = await openMany(count);
console.log(Math.round((resident() - before) / count));
for (const session of [...warm, ...sessions])
	session.destroy();
