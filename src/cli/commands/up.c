/*
 * `devplane up`: a whole cluster in one folder, with one command. It checks for foreseeable
 * failures before anything is started, so that each gets its own message. With --detach a copy of
 * this process is the supervisor; this one waits until everything is ready, passes on the
 * supervisor's messages, and ends.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/schema/gates.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "cli/commands/commands.h"
#include "cli/output/shell_word.h"
#include "cli/program/cli.h"
#include "cli/roles/role.h"
#include "cli/up/check.h"
#include "cli/up/leftover.h"
#include "cli/up/owners.h"
#include "cli/up/port.h"
#include "cli/up/run.h"
#include "cli/up/state.h"

struct up_options {
	const char *data_dir, *bind_address, *runtime, *endpoint;
	int64_t port, nodes, v;
	int64_t uid_base;
	const char *demo_devices, *controller_manager, *kube_proxy;
	bool prefer_upstream;
	bool demo, detach, any_kubelet, sandbox;
	struct flag_list etcd_servers, feature_gates;
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct up_options),
	{ "demo", 0, FLAG_BOOL(struct up_options, demo),
	  .help = "run two hollow nodes, demo-0 and demo-1, with simulated devices, instead of "
		  "this machine as a node" },
	{ "demo-devices", 0, FLAG_STRING(struct up_options, demo_devices), .choices = "all|plain",
	  .help = "--demo: plain has GPUs and NICs only; all (default) adds a GPU that can be "
		  "divided, FPGAs that claims share, and FPGAs that both nodes reach" },
	{ "nodes", 0, FLAG_INT(struct up_options, nodes), .arg = "COUNT", .initial = "0", .min = 0,
	  .max = 10000,
	  .help = "number of additional hollow nodes, named hollow-0, hollow-1 and so on" },
	{ "runtime", 0, FLAG_STRING(struct up_options, runtime), .choices = "auto|cri|hollow",
	  .help = "how this machine runs as a node: cri with containers, hollow with simulated "
		  "pods; auto: cri if you are root and a runtime answers" },
	{ "container-runtime-endpoint", 0, FLAG_STRING(struct up_options, endpoint),
	  .arg = "SOCKET", .help = "socket of the CRI v1 runtime, instead of the usual paths" },
	{ "bind-address", 0, FLAG_STRING(struct up_options, bind_address), .arg = "ADDRESS",
	  .initial = "127.0.0.1",
	  .help = "address that the server listens on; 0.0.0.0 or :: for all" },
	{ "secure-port", 'p', FLAG_INT(struct up_options, port), .arg = "PORT", .initial = "6443",
	  .min = 0, .max = 65535,
	  .help = "port of the server; 0 picks a free one, which the folder keeps" },
	{ "etcd-servers", 0, FLAG_LIST(struct up_options, etcd_servers), .arg = "URL",
	  .help = "keep objects in this etcd cluster instead of in the folder" },
	{ "controller-manager", 0, FLAG_STRING(struct up_options, controller_manager),
	  .arg = "PATH",
	  .help = "also run this kube-controller-manager, without the controllers that devplane "
		  "has" },
	{ "prefer-upstream", 0, FLAG_BOOL(struct up_options, prefer_upstream),
	  .help = "--controller-manager: leave the controllers that both have to it" },
	{ "kube-proxy", 0, FLAG_STRING(struct up_options, kube_proxy), .arg = "PATH",
	  .help = "also run this kube-proxy for this machine's node; needs root" },
	{ "feature-gates", 0, FLAG_LIST(struct up_options, feature_gates), .arg = "NAME=BOOL",
	  .help = "switch features on or off, for all roles" },
	{ "kubelet-insecure-tls", 0, FLAG_BOOL(struct up_options, any_kubelet),
	  .help = "do not verify kubelets' certificates, for nodes with self-signed ones" },
	{ "uid-base", 0, FLAG_INT(struct up_options, uid_base), .arg = "ID", .initial = "77000",
	  .min = 0, .max = 2000000000,
	  .help = "root only: first user ID of the roles, each of which gets its own; 0: run them "
		  "as root" },
	{ "sandbox", 0, FLAG_BOOL(struct up_options, sandbox), .initial = "true",
	  .help = "restrict each role to its own user and to the files and system calls that it "
		  "needs" },
	{ "detach", 0, FLAG_BOOL(struct up_options, detach),
	  .help = "run in the background, and return when everything is ready" },
	{ "v", 0, FLAG_INT(struct up_options, v), .arg = "LEVEL", .initial = "0",
	  .help = "log level of the roles: 0 normal, 2 debug, 5 everything" },
	{ NULL },
};

struct up_command {
	struct cli *cli;
	const struct up_options *options;
	struct up_plan plan;
	int64_t began_ns;
	int lock;
	int ready_fd; /* detached: the pipe to the waiting process; -1: none */
	const char *notes[4]; /* notes to print with the summary */
	size_t nnotes;
};

static void up_note(struct up_command *v, const char *text)
{
	if (v->nnotes < ARRAY_SIZE(v->notes))
		v->notes[v->nnotes++] = text;
}

/* --- the plan -------------------------------------------------------------------------------- */

static int plan_nodes(struct up_command *v, struct error *err)
{
	const struct up_options *o = v->options;
	const char *why = NULL;
	struct error failure;
	int r;

	v->plan.hollow = o->nodes;
	v->plan.demo = o->demo;
	v->plan.varied = !o->demo_devices || strcmp(o->demo_devices, "all") == 0;
	if (o->demo_devices && !o->demo)
		return cli_bad_usage(v->cli, err, "--demo-devices needs --demo");
	if (o->demo && !o->runtime && !o->endpoint)
		return 0;
	r = up_check_host_name(&v->cli->arena, &v->plan.local_node, err);
	if (r < 0)
		return r;
	if (o->runtime && strcmp(o->runtime, "hollow") == 0)
		return o->endpoint ? cli_bad_usage(v->cli, err,
						   "--container-runtime-endpoint and --runtime "
						   "hollow exclude each other")
				   : 0;
	r = up_check_runtime(v->cli, o->endpoint, &v->plan.runtime_endpoint, &why, &failure);
	if (r == 0)
		return 0;
	if (o->endpoint || (o->runtime && strcmp(o->runtime, "cri") == 0))
		return error_copy(err, &failure);
	up_note(v, arena_strdup(&v->cli->arena, str_from(failure.msg)));
	return 0;
}

/* Roles get their own users only if these can reach the data folder. */
static void plan_users(struct up_command *v)
{
	struct up_plan *p = &v->plan;
	const char *wall;

	p->sandbox = v->options->sandbox;
	p->uid_base = p->sandbox && geteuid() == 0 ? v->options->uid_base : 0;
	wall = p->uid_base ? up_check_wall(p->arena, p->layout.dir) : NULL;
	if (!wall)
		return;
	p->uid_base = 0;
	up_note(v, arena_printf(p->arena,
				"all roles run as root, because other users may not pass %s: use "
				"another --data-dir, or let others pass it (chmod o+x)",
				wall));
}

/* Makes the plugin readable for the scheduler's user: copies it if its folder is not accessible. */
static int place_plugin(const struct up_plan *p, const char **path, struct error *err)
{
	CLEANUP(buf_release) struct buf content = BUF_INIT(16 * MIB);
	const char *copy;
	int r;

	if (!p->uid_base || !up_check_wall(p->arena, *path))
		return 0;
	copy = arena_printf(p->arena, "%s/scheduler-plugin.so", p->layout.dir);
	r = file_read(*path, &content, err);
	if (r == 0)
		r = file_write_atomic(copy, buf_str(&content), 0644, err);
	*path = copy;
	return r;
}

static int plan_scheduler(struct up_command *v, struct error *err)
{
	CLEANUP(buf_release) struct buf quoted = BUF_INIT(64 * KIB);
	struct up_plan *p = &v->plan;
	const char *plugin, *path, *text;
	int r;

	if (!p->demo)
		return 0;
	plugin = up_check_plugin(&v->cli->arena, "disk_io");
	if (!plugin) {
		up_note(v, "the plugin disk_io.so was not found beside the program or in "
			   "lib/devplane/scheduler: pods are scheduled without regard to disk "
			   "bandwidth");
		return 0;
	}
	r = place_plugin(p, &plugin, err);
	if (r < 0)
		return r;
	path = arena_printf(p->arena, "%s/scheduler.yaml", p->layout.dir);
	(void)json_print_str(&quoted, str_from(plugin), NULL);
	text = arena_printf(p->arena,
			    "apiVersion: kubescheduler.config.k8s.io/v1\n"
			    "kind: KubeSchedulerConfiguration\n"
			    "devplane:\n  plugins:\n  - path: %s\n"
			    "profiles:\n- schedulerName: default-scheduler\n"
			    "  plugins:\n    multiPoint:\n      enabled:\n"
			    "      - {name: DiskIO, weight: 2}\n",
			    quoted.p);
	r = file_write_atomic(path, str_from(text), 0644, err);
	p->scheduler_config = path;
	p->scheduler_plugin = plugin;
	return r;
}

/* The port of the last time, if it is free. */
static int old_port(const struct up_command *v)
{
	struct up_state s;
	int64_t port;
	ptrdiff_t at;

	if (up_state_read(&v->plan.layout, &s, NULL) < 0)
		return 0;
	for (at = (ptrdiff_t)s.server.n; at > 0 && s.server.p[at - 1] != ':'; at--)
		;
	if (!str_to_i64(str_skip(s.server, (size_t)at), &port) || port < 1 || port > 65535)
		return 0;
	return up_port_check(v->options->bind_address, (int)port, NULL) == 0 ? (int)port : 0;
}

static int plan_server(struct up_command *v, struct error *err)
{
	const struct up_options *o = v->options;
	struct up_plan *p = &v->plan;
	int r;

	p->bind_address = o->bind_address;
	p->etcd_servers = &o->etcd_servers;
	p->feature_gates = &o->feature_gates;
	p->any_kubelet = o->any_kubelet;
	p->port = o->port ? (int)o->port : old_port(v);
	r = up_port_check(p->bind_address, p->port, err);
	if (r == 0 && o->etcd_servers.n > 0)
		r = up_check_etcd(&o->etcd_servers, err);
	return r;
}

static bool is_started(const struct up_plan *p, const char *node)
{
	if (node[0] == '.' || strcmp(node, "hollow") == 0)
		return true;
	for (size_t i = 0; i < p->n; i++)
		if (p->roles[i].node && strcmp(p->roles[i].node, node) == 0)
			return true;
	return false;
}

/* An earlier `up` had other flags. Its nodes look alive until their leases expire. */
static void note_idle_nodes(struct up_command *v)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);
	DIR *d = opendir(v->plan.layout.nodes);
	const struct dirent *e;
	bool demo = false;

	while (d && (e = readdir(d))) {
		if (is_started(&v->plan, e->d_name))
			continue;
		demo = demo || str_starts(str_from(e->d_name), STR("demo-"));
		(void)buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", e->d_name);
	}
	if (d)
		(void)closedir(d);
	if (names.n > 0)
		up_note(v, arena_printf(&v->cli->arena,
					"this folder has nodes that are not started: %.*s%s",
					STR_ARG(buf_str(&names)), demo ? "; add --demo" : ""));
}

/* The absolute path of a program that is not ours. */
static int check_program(struct up_command *v, const char *flag, const char *path,
			 const char **ret_path, struct error *err)
{
	char full[PATH_MAX];
	struct stat st;

	if (!path)
		return 0;
	if (!realpath(path, full))
		return error_set_errno(err, ERR_INVALID, errno, "--%s: cannot find %s", flag, path);
	if (stat(full, &st) < 0 || !S_ISREG(st.st_mode) || access(full, X_OK) < 0)
		return error_set(err, ERR_INVALID,
				 "--%s: %s is not a program: name the file itself"
				 ", and make it executable (chmod +x)",
				 flag, path);
	*ret_path = arena_strdup(v->plan.arena, str_from(full));
	return 0;
}

/* After the nodes and users are known. */
static int plan_borrowed(struct up_command *v, struct error *err)
{
	const struct up_options *o = v->options;
	struct up_plan *p = &v->plan;
	int r = check_program(v, "controller-manager", o->controller_manager,
			      &p->controller_manager, err);

	if (r == 0)
		r = check_program(v, "kube-proxy", o->kube_proxy, &p->kube_proxy, err);
	if (r < 0)
		return r;
	p->prefer_upstream = o->prefer_upstream;
	if (o->prefer_upstream && !p->controller_manager)
		return cli_bad_usage(v->cli, err,
				     "--prefer-upstream needs --controller-manager PATH");
	if (p->kube_proxy && geteuid() != 0)
		return error_set(
			err, ERR_FORBIDDEN,
			"--kube-proxy changes the machine's packet filter: run this as root");
	if (p->kube_proxy && !p->local_node)
		return cli_bad_usage(
			v->cli, err,
			"--kube-proxy is for this machine's node, which --demo leaves out");
	return 0;
}

static int make_plan(struct up_command *v, struct error *err)
{
	struct up_plan *p = &v->plan;
	int r;

	p->v = v->options->v;
	plan_users(v);
	r = plan_server(v, err);
	if (r == 0)
		r = plan_nodes(v, err);
	if (r == 0)
		r = plan_borrowed(v, err);
	if (r == 0 && p->local_node)
		r = up_layout_check_sockets(&p->layout, p->local_node, false, err);
	if (r == 0 && p->demo)
		r = up_layout_check_sockets(&p->layout, "demo-0", true, err);
	if (r == 0 && p->hollow > 0)
		r = up_layout_check_sockets(&p->layout, "hollow/9999", false, err);
	if (r == 0)
		r = plan_scheduler(v, err);
	if (r == 0) {
		up_plan_roles(p);
		note_idle_nodes(v);
	}
	return r;
}

/* --- summary --------------------------------------------------------------------------------- */

static void up_count(struct buf *out, size_t n, const char *what)
{
	if (n > 0)
		(void)buf_printf(out, ", %zu %s%s", n, what, n == 1 ? "" : "s");
}

static void print_what_runs(const struct up_command *v, struct buf *out)
{
	size_t drivers = 0;

	for (size_t i = 0; i < v->plan.n; i++)
		drivers += v->plan.roles[i].kind == UP_DRIVER;
	(void)buf_printf(out, "  runs    server, controller, scheduler%s%s",
			 v->plan.controller_manager ? ", kube-controller-manager" : "",
			 v->plan.kube_proxy ? ", kube-proxy" : "");
	up_count(out, up_plan_nodes(&v->plan), "node");
	up_count(out, drivers, "driver");
	if (v->plan.runtime_endpoint)
		(void)buf_printf(out, "; containers by %s", v->plan.runtime_endpoint);
	(void)buf_addc(out, '\n');
}

/* The flags with which other commands select this folder. */
static const char *dir_words(const struct up_command *v)
{
	struct up_layout usual;

	if (up_layout_init(&usual, &v->cli->arena, NULL, NULL) == 0 &&
	    strcmp(usual.dir, v->plan.layout.dir) == 0)
		return "";
	return arena_printf(&v->cli->arena, " --data-dir %s",
			    shell_word(&v->cli->arena, v->plan.layout.dir));
}

static void print_next(const struct up_command *v, struct buf *out)
{
	const char *dir = dir_words(v);

	(void)buf_addz(out, "  try     kubectl get nodes\n");
	if (v->plan.demo)
		(void)buf_printf(out,
				 "          devplane get pools\n"
				 "          devplane demo%s\n",
				 dir);
	(void)buf_printf(out, "  look    devplane status%s\n          devplane logs scheduler%s\n",
			 dir, dir);
	if (v->options->detach)
		(void)buf_printf(out, "  stop    devplane down%s\n", dir);
	else
		(void)buf_addz(out, "  stop    Ctrl-C\n");
}

/*
 * The link logs an administrator in, so it is shown on terminals only, not written to files and
 * journals.
 */
static void print_page(const struct up_command *v, const struct up_ready *ready, struct buf *out)
{
	if (ready->code[0])
		(void)buf_printf(out,
				 "  page    %s/ui/#code=%s\n          (a link for one login, "
				 "within an hour)\n",
				 ready->server, ready->code);
	else
		(void)buf_printf(out,
				 "  page    %s/ui/ (log in with the link that "
				 "\"devplane page%s\" prints)\n",
				 ready->server, dir_words(v));
}

static void print_summary(const struct up_command *v, const struct up_ready *ready)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	(void)buf_printf(&out, "devplane is up after %.2f s: %s\n\n  export KUBECONFIG=%s\n\n",
			 (double)ready->ms / 1000, ready->server,
			 shell_word(&v->cli->arena, v->plan.layout.admin));
	print_what_runs(v, &out);
	print_page(v, ready, &out);
	print_next(v, &out);
	for (size_t i = 0; i < v->nnotes; i++)
		(void)buf_printf(&out, "  note    %s\n", v->notes[i]);
	(void)fwrite(out.p, 1, out.n, v->cli->out);
	(void)fflush(v->cli->out);
}

/* --- detaching ------------------------------------------------------------------------------- */

/*
 * From here on the supervisor's streams are its log. Notifies the waiting process that all is
 * ready.
 */
static void up_let_go(struct up_command *v)
{
	int fd = open(up_layout_log(&v->plan.layout, "up"),
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0) {
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)close(fd);
	}
	BEST_EFFORT(write(v->ready_fd, "1", 1));
	(void)close(v->ready_fd);
	v->ready_fd = -1;
}

/* The signals that stop us. SIGHUP is left out if it was ignored at the start, as by nohup. */
static sigset_t stop_signals(void)
{
	struct sigaction hangup;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(&set, SIGHUP);
	return set;
}

/* Waits until the pipe is readable; passes signals on meanwhile. */
static void pass_signals_on(pid_t child, int fd, const sigset_t *set)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .events = POLLIN } };
	struct signalfd_siginfo info;

	p[1].fd = signalfd(-1, set, SFD_CLOEXEC);
	while (poll(p, 2, -1) < 0 ? errno == EINTR : p[0].revents == 0)
		if (p[1].revents && read(p[1].fd, &info, sizeof(info)) == sizeof(info))
			(void)kill(child, (int)info.ssi_signo);
}

/* The first process: waits for the notification or the end of the child. Never returns. */
static void wait_for_child(pid_t child, int fd, const sigset_t *set)
{
	char word;
	int status = 0;
	ssize_t n;

	pass_signals_on(child, fd, set);
	while ((n = read(fd, &word, 1)) < 0 && errno == EINTR)
		;
	if (n == 1)
		_exit(CLI_OK);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : CLI_FAILURE);
}

static int detach(struct up_command *v, struct error *err)
{
	sigset_t set = stop_signals(), before;
	int ends[2], null;
	pid_t child;

	(void)fflush(v->cli->out);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pipe");
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	child = fork();
	if (child > 0) {
		(void)close(ends[1]);
		wait_for_child(child, ends[0], &set);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a process");
	(void)close(ends[0]);
	v->ready_fd = ends[1];
	up_state_sign(v->lock);
	(void)setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		(void)dup2(null, STDIN_FILENO);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

static void on_ready(void *arg, const struct up_ready *ready)
{
	struct up_command *v = arg;

	print_summary(v, ready);
	if (v->ready_fd >= 0)
		up_let_go(v);
}

static void on_trouble(void *arg, const char *text)
{
	const struct up_command *v = arg;

	if (!v->options->detach)
		(void)fprintf(v->cli->err, "devplane: %s\n", text);
}

static int already_up(const struct up_command *v, struct error *err)
{
	return error_set(err, ERR_ALREADY_EXISTS,
			 "a cluster is already up in %s (pid %lld); see `devplane status%s`, or "
			 "stop it with `devplane down%s`",
			 v->plan.layout.dir, (long long)up_state_holder(&v->plan.layout),
			 dir_words(v), dir_words(v));
}

static void on_leftover(void *arg, const struct up_state_role *left)
{
	const struct up_command *v = arg;

	(void)fprintf(v->cli->err,
		      "devplane: waiting for the end of %.*s (pid %lld), whose supervisor was "
		      "killed\n",
		      STR_ARG(left->name), (long long)left->pid);
}

static int check_state(struct up_command *v, struct error *err)
{
	struct up_state s;
	int r = up_state_read(&v->plan.layout, &s, err);

	if (r == 0)
		up_leftover_wait(&s, on_leftover, v);
	return r == -ERR_NOT_FOUND ? 0 : r;
}

static int prepare(struct up_command *v, struct error *err)
{
	struct gates gates;
	int r = role_gates(v->cli, &v->options->feature_gates, &gates, err);

	if (r == 0)
		r = up_layout_init(&v->plan.layout, v->plan.arena, v->options->data_dir, err);
	if (r == 0)
		r = up_layout_make(&v->plan.layout, err);
	if (r < 0)
		return r;
	r = up_state_lock(&v->plan.layout, &v->lock, err);
	if (r == -ERR_ALREADY_EXISTS)
		return already_up(v, err);
	if (r == 0)
		r = check_state(v, err);
	if (r == 0)
		r = make_plan(v, err);
	return r < 0 ? r : up_owners_set(&v->plan, err);
}

static int commands_up_run(struct cli *cli, struct error *err)
{
	struct up_command v = { .cli = cli,
				.options = cli->options,
				.plan = { .arena = &cli->arena },
				.began_ns = clock_monotonic(clock_system()),
				.lock = -1,
				.ready_fd = -1 };
	struct up_run_opts o = { .cli = cli,
				 .plan = &v.plan,
				 .began_ns = v.began_ns,
				 .want_code = isatty(fileno(cli->out)),
				 .on_ready = on_ready,
				 .on_trouble = on_trouble,
				 .arg = &v };
	int r = prepare(&v, err);

	if (r == 0 && v.options->detach)
		r = detach(&v, err);
	if (r == 0)
		r = up_run(&o, err);
	if (v.lock >= 0)
		up_state_unlock(v.lock);
	return r;
}

static const struct command_note files[] = {
	{ "DIR/admin.kubeconfig", "an administrator's kubeconfig" },
	{ "DIR/kubeconfig/", "kubeconfigs of the parts, each with only the rights that it needs" },
	{ "DIR/log/", "logs of the parts; see devplane logs" },
	{ "DIR/nodes/", "folders of nodes: sockets of drivers and plugins, volumes, state" },
	{ "DIR/pki/, DIR/store/", "certificates and keys; all objects, without etcd" },
	{ "DIR/prometheus.json", "metrics endpoints of the parts, for Prometheus' file_sd" },
	{ "DIR/up.json, DIR/up.lock", "list of running parts; lock that is held meanwhile" },
	{ NULL },
};

const struct command cmd_up = {
	.name = "up",
	.summary = "run a whole cluster from one folder",
	.group = COMMAND_CLUSTER,
	.about = "Creates the folder, its CA and a kubeconfig for each part. It starts server, "
		 "controller, scheduler and node, and restarts a part that exits. Each part has "
		 "only the API rights and the system privileges that it needs. Ctrl-C or `devplane "
		 "down` stops them in order; a later `devplane up` continues with all objects.\n\n"
		 "This machine becomes a node. If you are root and a CRI runtime answers, it runs "
		 "containers. Otherwise the node is hollow: it only simulates its pods. With "
		 "--demo there are two hollow nodes with simulated devices instead.",
	.examples = "  devplane up --demo\n"
		    "  devplane up --nodes 100 --detach\n"
		    "  devplane up --data-dir d --secure-port 0 --etcd-servers "
		    "http://127.0.0.1:2379\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct up_options),
	.run = commands_up_run,
};
