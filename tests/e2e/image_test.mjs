// The container images, made of the program under test for this machine's architecture: the layout and what is in it, the
// same bytes twice, and containers of them on a real containerd. `make image` also compiles, for both architectures; `make image ARGS=--check` tests that.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { containersPossible, startContainerd } from "./containerd_lib.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"

const checkout = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")
const out = `${scratch}/images`
const arch = { arm64: "arm64", x64: "amd64" }[process.arch]
const epoch = 1700000000
const names = ["devplane", "devplane-debug"]
const run = (command, ...args) => execFileSync(command, args, { encoding: "utf8", maxBuffer: 1 << 26 })

function image(args, env = {}) {
	return spawnSync(`${checkout}/scripts/image`, args,
		{ encoding: "utf8", maxBuffer: 1 << 26, env: { ...process.env, SOURCE_DATE_EPOCH: `${epoch}`, ...env } })
}

// --- the command ----------------------------------------------------------------------------------------------------

await test("wrong arguments are errors that say what to do", async () => {
	for (const [args, message] of [
		[["--arch", "riscv64"], /"riscv64" is not an architecture of the images; choose from amd64, arm64/],
		[["--arch", ""], /--arch names no architecture; choose from amd64, arm64/],
		[["--tag", "a b"], /"a b" cannot be a tag; use letters, digits, "_", "." and "-"/],
		[["--binary", "/nowhere/devplane"], /\/nowhere\/devplane.*No such file/],
		[["--binary", `${checkout}/Makefile`], /Makefile is not a program of amd64 or arm64/],
		[["--binary", devplane, "--arch", arch === "amd64" ? "arm64" : "amd64"], new RegExp(`is a program of ${arch}; leave out --arch`)],
		[["--binary", devplane, "--offline", "--output", `${scratch}/none`], /no packages of .* from an earlier run; run it once without --offline/],
	]) {
		const { status, stderr } = image(["--output", `${scratch}/unused`, ...args])
		assert.equal(status, 1, stderr)
		assert.match(stderr, message)
		assert.doesNotMatch(stderr, /Traceback/)
	}
	const help = image(["--help"])
	assert.equal(help.status, 0)
	assert.match(help.stdout, /--arch[\s\S]*--tag[\s\S]*--binary[\s\S]*--offline/)
})

await test("a mirror that cannot be reached is an error that says what to do", async () => {
	writeFileSync(`${scratch}/sources.list`, "deb [trusted=yes] http://127.0.0.1:1/debian bookworm main\n")
	const { status, stderr } = image(["--binary", devplane, "--output", `${scratch}/unreached`, "--sources", `${scratch}/sources.list`])
	assert.equal(status, 1, stderr)
	assert.match(stderr, /cannot read the package lists: check the network.*--offline/)
})

let made
await test("images are made of a program", async () => {
	made = image(["--binary", devplane, "--output", out, "--tag", "test"])
	assert.equal(made.status, 0, made.stderr)
	for (const name of names)
		assert.match(made.stdout, new RegExp(`${name}.tar: docker.io/library/${name}:test, ${arch} [0-9.]+ MiB unpacked, [0-9.]+ MiB compressed`))
})

await test("the same program and packages give the same bytes", async () => {
	mkdirSync(`${out}/first`)
	names.forEach((name) => renameSync(`${out}/${name}.tar`, `${out}/first/${name}.tar`))
	rmSync(`${out}/${arch}/root`, { recursive: true })
	// Another file with other times, and other settings of the caller.
	copyFileSync(devplane, `${scratch}/copy`)
	chmodSync(`${scratch}/copy`, 0o700)
	const again = spawnSync("bash", ["-c", 'umask 077; exec "$0" "$@"', `${checkout}/scripts/image`, "--binary", `${scratch}/copy`, "--output", out, "--tag", "test", "--offline", "--check"],
		{ encoding: "utf8", env: { ...process.env, SOURCE_DATE_EPOCH: `${epoch}`, TZ: "Asia/Tokyo", LC_ALL: "C.UTF-8" } })
	assert.equal(again.status, 0, again.stderr)
	// --check runs the program with the libraries of the image, and makes the images once more.
	assert.match(again.stdout, new RegExp(`image: ${arch}: devplane \\d[\\s\\S]*/devplane.tar and .*/again/devplane.tar are the same\n`))
	names.forEach((name) => run("cmp", `${out}/${name}.tar`, `${out}/first/${name}.tar`))
})

// --- what is in them ------------------------------------------------------------------------------------------------

// An image taken apart: its documents, and for each file its row of tar's listing; all layers lie in `root`.
function takeApart(name) {
	const folder = `${scratch}/${name}`
	const self = { folder, root: `${folder}/root`, layout: `${folder}/layout`, rows: [], bytes: 0, compressed: 0 }
	mkdirSync(self.layout, { recursive: true })
	mkdirSync(self.root)
	run("tar", "-C", self.layout, "-xf", `${out}/${name}.tar`)
	const read = (file) => JSON.parse(readFileSync(`${self.layout}/${file}`, "utf8"))
	self.blob = ({ digest, size }) => {
		const data = readFileSync(`${self.layout}/blobs/${digest.replace(":", "/")}`)
		assert.equal(data.length, size, digest)
		assert.equal(`sha256:${createHash("sha256").update(data).digest("hex")}`, digest)
		return data
	}
	const parse = (descriptor) => JSON.parse(self.blob(descriptor))
	self.version = read("oci-layout")
	self.top = read("index.json")
	self.index = parse(self.top.manifests[0])
	self.manifest = parse(self.index.manifests[0])
	self.config = parse(self.manifest.config)
	self.layers = self.manifest.layers.map((layer) => {
		const tar = gunzipSync(self.blob(layer))
		self.compressed += layer.size
		writeFileSync(`${folder}/layer.tar`, tar)
		run("tar", "-C", self.root, "--no-same-owner", "-xf", `${folder}/layer.tar`)
		self.rows.push(...run("tar", "--numeric-owner", "--utc", "--full-time", "-tvf", `${folder}/layer.tar`).trim().split("\n"))
		return `sha256:${createHash("sha256").update(tar).digest("hex")}`
	})
	for (const row of self.rows)
		self.bytes += row.startsWith("-") ? Number(row.split(/\s+/)[2]) : 0
	return self
}

const images = {}
await test("the layout has an index of platforms, and every digest is right", async () => {
	for (const name of names) {
		const self = images[name] = takeApart(name)
		assert.deepEqual(self.version, { imageLayoutVersion: "1.0.0" })
		assert.equal(self.top.manifests.length, 1)
		assert.equal(self.top.manifests[0].mediaType, "application/vnd.oci.image.index.v1+json")
		assert.equal(self.top.manifests[0].annotations["io.containerd.image.name"], `docker.io/library/${name}:test`)
		assert.equal(self.top.manifests[0].annotations["org.opencontainers.image.ref.name"], "test")
		assert.deepEqual(self.index.manifests.map(({ platform }) => platform), [{ architecture: arch, os: "linux" }])
		assert.deepEqual(self.config.rootfs, { type: "layers", diff_ids: self.layers })
		assert.deepEqual([self.config.architecture, self.config.os], [arch, "linux"])
		const blobs = readdirSync(`${self.layout}/blobs/sha256`)
		assert.equal(blobs.length, new Set([self.top.manifests[0], ...self.index.manifests, self.manifest.config, ...self.manifest.layers].map((d) => d.digest)).size)
	}
	const [plain, debug] = names.map((name) => images[name].layers)
	assert.deepEqual(debug.slice(0, plain.length), plain, "the debug image begins with the layers of the other")
})

await test("the configuration names user, program and labels", async () => {
	for (const name of names) {
		const { config, created } = images[name].config
		assert.equal(config.User, "65532:65532")
		assert.deepEqual(config.Entrypoint, ["/usr/bin/devplane"])
		assert.equal(created, "2023-11-14T22:13:20Z")
		const label = (key) => config.Labels[`org.opencontainers.image.${key}`]
		assert.equal(label("title"), name)
		assert.equal(label("version"), run(devplane, "--version").split(" ")[1])
		assert.equal(label("licenses"), "Apache-2.0")
		assert.equal(label("created"), created)
		assert.match(label("revision"), /^([0-9a-f]{40}(-dirty)?|unknown)$/)
	}
})

await test("an image has at most 25 MiB", async () => {
	const { bytes, compressed } = images.devplane
	assert.ok(bytes <= 25 << 20 && compressed <= 25 << 20, `${bytes} bytes, ${compressed} compressed`)
})

await test("owners, modes and times are fixed; nothing is setuid or writable by others", async () => {
	for (const name of names)
		for (const row of images[name].rows) {
			const [mode, owner, , day, time, path] = row.split(/\s+/)
			assert.equal(owner, path.startsWith("home/devplane") ? "65532/65532" : "0/0", row)
			assert.equal(`${day} ${time}`, "2023-11-14 22:13:20", row)
			assert.doesNotMatch(mode.slice(0, 7), /s/i, row)
			assert.ok(mode[0] === "l" || path === "tmp/" || !/w/.test(mode.slice(5)), row)
		}
})

// The libraries that a file of the image is linked with.
const needed = (path) => [...run("readelf", "-d", path).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((m) => m[1])

await test("the program is stripped, and each library that it needs is there, and no other", async () => {
	const { root } = images.devplane
	const folder = `${root}/usr/lib/${arch === "amd64" ? "x86_64" : "aarch64"}-linux-gnu`
	assert.doesNotMatch(run("readelf", "-SW", `${root}/usr/bin/devplane`), /\.symtab|\.debug_info/)
	// The last two: NVIDIA's library, which the driver loads from the node, is linked with them.
	const wanted = new Set([...needed(`${root}/usr/bin/devplane`), "libdl.so.2", "librt.so.1"])
	for (const library of wanted)
		needed(`${folder}/${library}`).forEach((next) => wanted.add(next))
	assert.deepEqual(readdirSync(folder).sort(), [...wanted].sort())
	const [, interpreter] = /interpreter: (.*)\]/.exec(run("readelf", "-l", devplane))
	const link = `${root}/usr${interpreter}`
	assert.ok(existsSync(`${link.replace(/\/[^/]*$/, "")}/${readlinkSync(link)}`), interpreter)
})

await test("each library's package has its licence in the image, and so do we", async () => {
	const { root } = images["devplane-debug"]
	const packages = readdirSync(`${root}/var/lib/dpkg/status.d`)
	for (const name of ["libc6", "libssl3", "libuv1", "libnghttp2-14", "ca-certificates", "busybox-static"])
		assert.ok(packages.includes(name), `${name} of ${packages}`)
	for (const name of [...packages, "devplane"])
		assert.ok(statSync(`${root}/usr/share/doc/${name}/copyright`).size > 100, name)
	assert.deepEqual(readFileSync(`${root}/usr/share/doc/devplane/LICENSE`), readFileSync(`${checkout}/LICENSE`))
	for (const name of packages) // a copyright refers to the texts of common licences
		for (const [path] of readFileSync(`${root}/usr/share/doc/${name}/copyright`, "utf8").matchAll(/\/usr\/share\/common-licenses\/(L?GPL-[0-9.]*[0-9]|Apache-2.0)/g))
			assert.ok(existsSync(root + path), `${name}: ${path}`)
	assert.match(readFileSync(`${images.devplane.root}/var/lib/dpkg/status.d/libssl3`, "utf8"), /^Package: libssl3\n[\s\S]*^Version: 3/m)
})

await test("certificates and users are there; a shell is in the debug image only", async () => {
	const { root } = images.devplane
	assert.ok(readFileSync(`${root}/etc/ssl/certs/ca-certificates.crt`, "utf8").split("BEGIN CERTIFICATE").length > 100)
	assert.match(readFileSync(`${root}/etc/passwd`, "utf8"), /^devplane:x:65532:65532:[^:]*:\/home\/devplane:/m)
	assert.match(readFileSync(`${root}/etc/group`, "utf8"), /^devplane:x:65532:$/m)
	assert.deepEqual(readdirSync(`${root}/usr/bin`), ["devplane"])
	const debug = images["devplane-debug"].root
	assert.equal(readlinkSync(`${debug}/usr/bin/sh`), "busybox")
	assert.equal(readlinkSync(`${debug}/usr/bin/kubectl-devplane`), "devplane")
})

// --- containers of them ---------------------------------------------------------------------------------------------

if (containersPossible()) {
	const containerd = startContainerd()
	const snapshotter = readFileSync(`${containerd.folder}/snapshotter`, "utf8").trim()
	let containers = 0
	// What a container prints, as the image's user. Without a command the image's own runs.
	const contain = (name, ...command) => containerd.ctr("run", "--rm", "--snapshotter", snapshotter, "--runc-root", `${containerd.folder}/runc`,
		`docker.io/library/${name}:test`, `image-${containers++}`, ...command)

	await test("containerd imports them", async () => {
		for (const name of names)
			containerd.ctr("images", "import", "--snapshotter", snapshotter, `${out}/${name}.tar`)
		const list = containerd.ctr("images", "list")
		names.forEach((name) => assert.match(list, new RegExp(`docker.io/library/${name}:test .*linux/${arch}`)))
	})

	await test("the program runs in a container", async () => {
		assert.equal(contain("devplane", "/usr/bin/devplane", "version"), run(devplane, "version"))
		assert.match(contain("devplane", "/usr/bin/devplane", "controller", "--help"), /devplane controller/)
		assert.match(contain("devplane"), /devplane COMMAND|Usage/i)
	})

	await test("in the debug image a shell runs as the user, with its tools and the plugin", async () => {
		const said = contain("devplane-debug", "sh", "-c", "id; kubectl-devplane version; pwd; ls /usr/bin; touch /home/devplane/x /tmp/x && echo writable; touch /etc/x || echo not there")
		assert.match(said, /^uid=65532\(devplane\) gid=65532\(devplane\)/)
		assert.ok(said.includes(run(devplane, "version")), said)
		assert.match(said, /^writable\nnot there$/m)
		// A link whose name busybox does not know would be "applet not found".
		const tools = readdirSync(`${images["devplane-debug"].root}/usr/bin`).filter((tool) => !/devplane|busybox/.test(tool))
		const list = contain("devplane-debug", "busybox", "--list").split("\n")
		assert.deepEqual(tools.filter((tool) => !list.includes(tool)), [])
	})
	containerd.stop()
} else {
	await test("containers run # SKIP only root can run them", async () => {})
}
finish()
