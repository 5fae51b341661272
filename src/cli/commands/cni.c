/*
 * `devplane cni`: the CNI plugin that gives pods the interfaces of their claims. The net driver
 * has all the knowledge; this command asks it and prints the reply for the runtime.
 *
 * While the driver is not running, pods that need nothing from it continue as if the plugin did
 * not exist. A file named by a pod's uid shows that the pod needs the driver; a file named by its
 * namespace shows that it may. Such pods have to be retried, also when they end, because an
 * interface that was moved into a pod must be returned. "Not running" means that nobody accepts
 * the connection. A driver that dies during a reply may have known more, so that is always
 * retried.
 */
#include <errno.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "cli/commands/commands.h"
#include "cli/connect/ask_socket.h"
#include "cli/program/cli.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/drivers_limits.h"

enum { ASK_MS = 60000 };

/* One run. */
struct plugin {
	struct arena arena;
	struct buf input; /* the network configuration */
	struct cni_request request;
	const char *root, *driver;
	int code; /* CNI's code of a failure */
};

static const char *get_env(void *arg UNUSED, const char *name)
{
	return getenv(name);
}

/* --- the request -------------------------------------------------------------------------- */

static void cni_put(struct json_writer *w, const char *key, struct str value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, value);
}

static void write_question(const struct cni_request *q, struct buf *body)
{
	struct json_writer w;

	json_writer_init(&w, body, NULL);
	json_writer_begin_object(&w);
	cni_put(&w, "network", q->network);
	if (q->command == CNI_GC) {
		json_writer_keyz(&w, "valid");
		json_writer_tree(&w, q->valid);
	} else {
		cni_put(&w, "containerID", q->container_id);
		cni_put(&w, "netns", q->netns);
		cni_put(&w, "ifname", q->ifname);
		cni_put(&w, "path", q->path);
		cni_put(&w, "podUID", q->pod_uid);
		cni_put(&w, "podName", q->pod_name);
		cni_put(&w, "podNamespace", q->pod_namespace);
	}
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

static int cni_ask(struct plugin *p, const char *path, struct buf *answer, int *ret_status,
		   bool *ret_connected, struct error *err)
{
	static const struct str targets[CNI_COMMANDS] = {
		[CNI_ADD] = { "/add", 4 },       [CNI_DEL] = { "/del", 4 },
		[CNI_CHECK] = { "/check", 6 },   [CNI_GC] = { "/gc", 3 },
		[CNI_STATUS] = { "/status", 7 },
	};
	CLEANUP(buf_release) struct buf body = BUF_INIT(CNI_INPUT_MAX);
	struct ask_socket a = { .path = path,
				.method = STR("POST"),
				.target = targets[p->request.command],
				.timeout_ms = ASK_MS,
				.ret_connected = ret_connected };

	if (p->request.command == CNI_STATUS) {
		a.method = STR("GET");
	} else {
		write_question(&p->request, &body);
		a.body = buf_str(&body);
	}
	return ask_socket(&a, answer, ret_status, err);
}

/* --- without a driver --------------------------------------------------------------------- */

/*
 * Whether the driver may be concerned with the pod. On ADD, a claim of its namespace that is
 * prepared for another pod may be its own, too, so it must be refused. On DEL such a pod has
 * nothing, and may end.
 */
static bool is_drivers(const struct plugin *p)
{
	const struct cni_request *q = &p->request;

	return nic_marks_has(p->root, p->driver, NIC_MARKS_PODS, q->pod_uid) ||
	       (q->command == CNI_ADD &&
		nic_marks_has(p->root, p->driver, NIC_MARKS_NAMESPACES, q->pod_namespace));
}

static int without_driver(struct plugin *p, const char *path, struct error *err)
{
	if (p->request.command == CNI_STATUS)
		p->code = CNI_NOT_AVAILABLE;
	else if (is_drivers(p))
		p->code = CNI_TRY_AGAIN;
	else
		return 0;
	return error_set(err, ERR_UNAVAILABLE, "the net driver is not running (socket %s)", path);
}

/* Turns the missing reply into an error. Returns 0 if no reply is needed. */
static int unanswered(struct plugin *p, const char *path, bool connected, struct error *failure)
{
	int cause = failure->sys_errno;

	if (!connected && (cause == ENOENT || cause == ECONNREFUSED))
		return without_driver(p, path, failure);
	if (!connected && (cause == EACCES || cause == EPERM))
		p->code = CNI_IO;
	else
		p->code = p->request.command == CNI_STATUS ? CNI_NOT_AVAILABLE : CNI_TRY_AGAIN;
	return error_wrap(failure, -(int)failure->code, "the net driver");
}

/* --- the answer --------------------------------------------------------------------------- */

static int read_refusal(struct plugin *p, struct str answer, int status, struct error *err)
{
	struct str message;
	struct json *v;

	p->code = CNI_OTHER;
	if (json_parse(&p->arena, answer, NULL, &v, NULL) < 0 || !json_text_at(v, "message").p)
		return error_set(err, ERR_PROTOCOL, "the net driver answers with HTTP status %d",
				 status);
	message = json_text_at(v, "message");
	p->code = (int)json_i64_at(v, "code", CNI_OTHER);
	return error_set(err, ERR_INTERNAL, "%.*s", STR_ARG(message));
}

static int cni_serve(struct plugin *p, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(8 * KIB), answer = BUF_INIT(CNI_OUTPUT_MAX);
	struct error own;
	bool connected = false;
	int r, status = 0;

	err = err ? err : &own;
	p->root = arena_strdup(&p->arena, p->request.root_dir);
	p->driver = arena_strdup(&p->arena, p->request.driver);
	p->code = CNI_INVALID_CONFIG;
	r = nic_socket_path(p->root, p->driver, &path, err);
	if (r < 0)
		return r;
	if (cni_ask(p, path.p, &answer, &status, &connected, err) < 0)
		return unanswered(p, path.p, connected, err);
	return status == 200 ? 0 : read_refusal(p, buf_str(&answer), status, err);
}

/* --- the command -------------------------------------------------------------------------- */

/* Reads no configuration from a terminal. VERSION does not need standard input at all. */
static int read_request(struct plugin *p, struct error *err)
{
	bool alone = isatty(STDIN_FILENO) == 1;
	bool version = strcmp(getenv("CNI_COMMAND"), cni_command_name(CNI_VERSION)) == 0;
	int r = alone ? 0 : file_read("-", &p->input, err);

	if (r < 0 && version) {
		buf_clear(&p->input);
	} else if (r < 0) {
		p->code = r == -ERR_TOO_LARGE ? CNI_DECODE : CNI_IO;
		return r;
	}
	return cni_request_read(&p->arena, get_env, NULL, buf_str(&p->input), &p->request, &p->code,
				err);
}

static int cni_work(struct plugin *p, struct buf *out, struct error *err)
{
	struct error own;
	int r;

	err = err ? err : &own;
	r = read_request(p, err);
	if (r == 0 && p->request.command != CNI_VERSION)
		r = cni_serve(p, err);
	if (r < 0)
		cni_print_error(out, p->request.version, p->code, err->msg, NULL);
	else if (p->request.command == CNI_VERSION)
		cni_print_versions(out, p->request.version);
	else
		cni_print_result(out, &p->request);
	return r;
}

static int run_cni(struct cli *cli, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CNI_INPUT_MAX + CNI_OUTPUT_MAX);
	struct plugin p = { .code = CNI_OTHER };
	const char *command = getenv("CNI_COMMAND");
	int r;

	if (!command || !*command)
		return cli_bad_usage(cli, err,
				     "CNI_COMMAND is not set: this is a plugin for container "
				     "runtimes");
	arena_init(&p.arena, CNI_WORK_MAX);
	buf_init(&p.input, CNI_INPUT_MAX);
	r = cni_work(&p, &out, err);
	if (out.n > 0)
		(void)fwrite(out.p, 1, out.n, cli->out);
	arena_release(&p.arena);
	buf_release(&p.input);
	return r;
}

const struct command cmd_cni = {
	.name = "cni",
	.summary = "CNI plugin that attaches the network interfaces of a pod's claims",
	.usage = "[FLAGS] < CONFIGURATION",
	.about =
		"The container runtime runs it after the plugin that creates the pod's first "
		"interface. It asks the running \"devplane driver net\" to move the interfaces of "
		"the pod's claims into the pod's network namespace (ADD), to take them back (DEL), "
		"or to verify them (CHECK). It returns the result of the previous plugins "
		"unchanged.\n\n"
		"To set it up, create a link to devplane named devplane-cni in the folder of CNI "
		"plugins, and add it to the plugins of the pods' network, as in the example. "
		"rootDir and driver are the driver's --root-dir and --name; the example has the "
		"defaults.\n\n"
		"If the driver is not running, pods of namespaces without a prepared claim of the "
		"driver on this node start normally. Other pods get error code 11, and the runtime "
		"retries.",
	.examples = "ln -s /usr/bin/devplane /usr/lib/cni/devplane-cni\n"
		    "cat /etc/cni/net.d/10-pods.conflist\n"
		    "{ \"cniVersion\": \"1.0.0\", \"name\": \"pods\", \"plugins\": [\n"
		    "  { \"type\": \"bridge\", \"bridge\": \"cni0\", \"isGateway\": true,\n"
		    "    \"ipam\": { \"type\": \"host-local\", \"subnet\": \"10.88.0.0/16\" } },\n"
		    "  { \"type\": \"devplane-cni\", \"rootDir\": \"/var/lib/kubelet\",\n"
		    "    \"driver\": \"net.devplane.dev\" } ] }",
	.group = COMMAND_ROLE,
	.run = run_cni,
};
