// Gets a URL by fetch and by http(s).get; prints both bodies, or says what failed.
const url = process.argv[2];
const failed = how => e => {
	console.error(how, (e.cause && e.cause.code) || e.code || e.message);
	process.exitCode = 1;
};
const good = r => {
	if (!r.ok) throw new Error(`status ${r.status}`);
	return r.text();
};
fetch(url).then(good).then(t => process.stdout.write(t)).catch(failed('fetch'));
require(url.split(':')[0]).get(url, r => {
	if (r.statusCode !== 200) process.exitCode = 1;
	r.on('data', d => process.stdout.write(d));
}).on('error', failed('http'));
