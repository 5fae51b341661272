/*
 * A plugin that attacks its cluster while it is loaded, and then behaves. It tries what a plugin
 * could use to become an administrator, and prints a line for each attempt: "hostile NAME allowed"
 * or "hostile NAME refused ERRNO". A test of `devplane up` reads them in the scheduler's log.
 *
 * It calls itself DiskIO, which is the plugin that `devplane up --demo` enables.
 */
#include <devplane/scheduler.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(const char *name, int sys_errno)
{
	if (sys_errno)
		(void)fprintf(stderr, "hostile %s refused %d\n", name, sys_errno);
	else
		(void)fprintf(stderr, "hostile %s allowed\n", name);
}

/* The whole command line of a process, its words apart by NUL. */
static size_t read_words(const char *pid, char *words, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, words, size - 1);
	if (fd >= 0)
		(void)close(fd);
	words[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static const char *find_word(const char *words, size_t n, const char *begin)
{
	for (size_t at = 0; at < n; at += strlen(words + at) + 1)
		if (strncmp(words + at, begin, strlen(begin)) == 0)
			return words + at + strlen(begin);
	return NULL;
}

/* The data folder, which the scheduler's own command line tells. */
static int find_folder(char *folder, size_t size)
{
	char words[16384];
	size_t n = read_words("self", words, sizeof(words));
	const char *config = find_word(words, n, "--kubeconfig=");
	char *end;

	if (!config || snprintf(folder, size, "%s", config) >= (int)size)
		return -1;
	end = strstr(folder, "/kubeconfig/");
	if (!end)
		return -1;
	*end = 0;
	return 0;
}

/* The API server of the same folder; 0: not found. */
static pid_t find_server(const char *folder)
{
	char words[16384], flag[PATH_MAX + 16];
	struct dirent *e;
	pid_t found = 0;
	DIR *d = opendir("/proc");
	size_t n;

	(void)snprintf(flag, sizeof(flag), "--data-dir=%s", folder);
	while (d && !found && (e = readdir(d))) {
		n = e->d_name[0] >= '1' && e->d_name[0] <= '9'
			    ? read_words(e->d_name, words, sizeof(words))
			    : 0;
		if (n && find_word(words, n, flag) && find_word(words, n, "server"))
			found = (pid_t)strtol(e->d_name, NULL, 10);
	}
	if (d)
		(void)closedir(d);
	return found;
}

static void try_open(const char *name, const char *folder, const char *file, int flags)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s%s", folder, file);
	fd = open(path, flags | O_CLOEXEC, 0600);
	report(name, fd < 0 ? errno : 0);
	if (fd >= 0)
		(void)close(fd);
}

/* Without a stop, so that a server that can be traced goes on. */
static void try_trace(pid_t pid)
{
	int failed = ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ? errno : 0;

	report("trace", failed);
	if (failed)
		return;
	(void)ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	(void)waitpid(pid, NULL, __WALL);
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static void try_kill(pid_t pid)
{
	report("signal", kill(pid, 0) < 0 ? errno : 0);
}

static void try_memory(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { &byte, 1 };

	/* Its own memory: nothing but the list of system calls can refuse it. */
	report("memory", process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 ? errno : 0);
}

/* A process of its own where that works; else this one, which must not become a shell. */
static void try_shell(void)
{
	pid_t child = fork();
	int failed = child < 0 ? errno : 0, status = 0;

	report("process", failed);
	if (child == 0) {
		(void)execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(errno);
	}
	if (child > 0) {
		(void)waitpid(child, &status, 0);
		report("shell", WEXITSTATUS(status) == 7 ? 0 : WEXITSTATUS(status));
		return;
	}
	(void)execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	report("shell", errno);
}

static void attack(void)
{
	char folder[PATH_MAX];
	pid_t server;

	if (find_folder(folder, sizeof(folder)) < 0) {
		report("start", EINVAL);
		return;
	}
	try_open("read-ca-key", folder, "/pki/ca.key", O_RDONLY);
	try_open("read-sa-key", folder, "/pki/sa.key", O_RDONLY);
	try_open("read-admin", folder, "/admin.kubeconfig", O_RDONLY);
	try_open("read-controller", folder, "/kubeconfig/controller.kubeconfig", O_RDONLY);
	try_open("read-store", folder, "/store/data.mdb", O_RDONLY);
	try_open("read-machine", "", "/etc/passwd", O_RDONLY);
	try_open("write-folder", folder, "/hostile", O_WRONLY | O_CREAT);
	try_open("write-open-folder", folder, "/../open/hostile", O_WRONLY | O_CREAT);
	try_open("read-own", folder, "/kubeconfig/scheduler.kubeconfig", O_RDONLY);
	server = find_server(folder);
	if (server == 0) {
		report("find-server", ESRCH);
		return;
	}
	try_trace(server);
	try_kill(server);
	try_memory();
	try_shell();
}

static uint32_t pre_enqueue(void *state, const struct dp_object *pod, struct dp_reason *why)
{
	(void)state;
	(void)pod;
	(void)why;
	return DP_SUCCESS;
}

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(struct dp_scheduler_plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "DiskIO",
	.pre_enqueue = pre_enqueue,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	attack();
	return &plugin;
}
