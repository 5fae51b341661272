/*
 * `devplane confine`: how `devplane up` starts its children. The process gives away what the role
 * does not need, asks to be killed when the supervisor dies, and becomes the role.
 *
 * Powers are dropped for good: the bounding set and no_new_privs keep an exec from getting them
 * back. A root without powers is stopped by a folder of somebody else's on the way; so when that
 * is what the data folder or the program lies behind, passing folders is kept, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"

#define BIT(n) (UINT64_C(1) << (n))

struct confine_options {
	int64_t parent;
	const char *capabilities, *folder;
};

static const struct flag flags[] = {
	{ "parent", 0, FLAG_INT(struct confine_options, parent), .arg = "PID", .required = true,
	  .help = "die with this process, our parent" },
	{ "capabilities", 0, FLAG_STRING(struct confine_options, capabilities),
	  .choices = "none|bind|all", .initial = "none",
	  .help = "what of root's powers to keep; bind: to listen on ports below 1024" },
	{ "folder", 0, FLAG_STRING(struct confine_options, folder), .arg = "DIR",
	  .help = "must stay accessible" },
	{ NULL },
};

static int set_capabilities(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(effective >> 32),
		  .permitted = (uint32_t)(permitted >> 32) },
	};

	return (int)syscall(SYS_capset, &head, data);
}

static uint64_t get_permitted(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

/* Asked as the one that we are about to be. */
static bool reaches_all(const char *program, const char *folder, uint64_t permitted)
{
	bool ok;

	if (set_capabilities(0, permitted) < 0)
		return true;
	ok = faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) == 0 &&
	     (!folder || faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) == 0);
	(void)set_capabilities(permitted, permitted);
	return ok;
}

static int drop_capabilities(const struct confine_options *o, const char *program,
			     struct error *err)
{
	uint64_t permitted = get_permitted(), keep = 0;

	if (permitted == 0 || strcmp(o->capabilities, "all") == 0)
		return 0;
	if (strcmp(o->capabilities, "bind") == 0)
		keep |= BIT(CAP_NET_BIND_SERVICE);
	if (!reaches_all(program, o->folder, permitted))
		keep |= BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH);
	keep &= permitted;
	for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (keep & BIT(i))
			continue;
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL && errno != EPERM)
			return error_set_errno(err, ERR_IO, errno, "cannot drop capabilities");
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (set_capabilities(keep, keep) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot drop capabilities");
	return 0;
}

/* The parent may have died before we asked to hear of it. */
static int follow_parent(int64_t parent, struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot follow the supervisor");
	if (getppid() != (pid_t)parent)
		return error_set(err, ERR_CANCELED, "the supervisor is gone");
	return 0;
}

/* Of limit 1 the kernel makes no core, neither as a file nor for a program that collects them. */
static void forbid_cores(void)
{
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
}

/* By its path, so that processes are called by its name; by the kernel's link where it was
 * replaced meanwhile. */
static const char *own_program(struct arena *a)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct stat named, own;

	if (n < 0)
		return "/proc/self/exe";
	path[n] = 0;
	if (stat(path, &named) < 0 || stat("/proc/self/exe", &own) < 0 ||
	    named.st_dev != own.st_dev || named.st_ino != own.st_ino)
		return "/proc/self/exe";
	return arena_strdup(a, str_from(path));
}

static int run(struct cli *cli, struct error *err)
{
	const struct confine_options *o = cli->options;
	const char *program = own_program(&cli->arena);
	char **argv = ARENA_ARRAY(&cli->arena, char *, cli->operands.n + 2);
	int r;

	argv[0] = arena_strdup(&cli->arena, str_from(cli->root->name));
	for (size_t i = 0; i < cli->operands.n; i++)
		argv[i + 1] = arena_strdup(&cli->arena, str_from(cli->operands.v[i]));
	forbid_cores();
	r = drop_capabilities(o, program, err);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot give up new privileges");
	if (r == 0)
		r = follow_parent(o->parent, err);
	if (r < 0)
		return r;
	(void)execv(program, argv);
	return error_set_errno(err, ERR_IO, errno, "cannot run %s", program);
}

const struct command cmd_confine = {
	.name = "confine",
	.summary = "run a role with few powers, for as long as its parent lives",
	.usage = "--parent PID [FLAGS] -- COMMAND ..",
	.group = COMMAND_TOOL,
	.hidden = true,
	.flags = flags,
	.options_size = sizeof(struct confine_options),
	.operands_min = 1,
	.operands_max = COMMAND_ANY,
	.run = run,
};
