// A Job whose device fails, with the Job controller of upstream's kube-controller-manager: the story of jobs_test.mjs.
// UPSTREAM_BIN names the folder of the program; without it the test is skipped.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, openSync, readFileSync } from "node:fs"
import { deviceStory } from "./job_story.mjs"
import { finish, scratch } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"

const program = `${process.env.UPSTREAM_BIN ?? ""}/kube-controller-manager`
if (!existsSync(program)) {
	console.log("ok 1 - upstream's Job controller # SKIP UPSTREAM_BIN has no kube-controller-manager")
	console.log("1..1")
	process.exit(0)
}

const cluster = await startCluster()
const node = await cluster.node("n1")
const log = `${scratch}/kube-controller-manager.log`
const manager = spawn(program, ["--kubeconfig", cluster.server.kubeconfig, "--controllers", "job-controller", "--leader-elect=false", "--secure-port=0"],
	{ stdio: ["ignore", openSync(log, "a"), openSync(log, "a")] })

await deviceStory(cluster, node, () => assert.equal(manager.exitCode, null, readFileSync(log, "utf8").slice(-2000)))
manager.kill()
await node.stop()
await cluster.stop()
finish()
