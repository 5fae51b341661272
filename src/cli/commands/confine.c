/*
 * `devplane confine`: how `devplane up` starts its children. The process drops the privileges that
 * the role does not need, asks to be killed when the supervisor dies, and execs the role.
 *
 * Capabilities are dropped permanently: the bounding set and no_new_privs keep an exec from
 * regaining them. A root without capabilities cannot traverse other users' folders. So if the data
 * folder or the program is below such a folder, only the capability to traverse folders is kept. A
 * role with its own user keeps no such capability; if it cannot reach something, that is an error.
 *
 * File rules are enforced here. The role itself limits its system calls, because its list does not
 * allow the exec that starts it. It gets the name of the list in its environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/landlock.h"
#include "cli/roles/syscalls.h"

#define BIT(n) (UINT64_C(1) << (n))

struct confine_options {
	int64_t parent;
	const char *capabilities, *folder, *syscalls, *program;
	int64_t uid; /* 0: keep the current user */
	struct flag_list groups, execute, read, write;
	bool landlock;
};

static const struct flag flags[] = {
	{ "parent", 0, FLAG_INT(struct confine_options, parent), .arg = "PID", .required = true,
	  .help = "die with this process, our parent" },
	{ "capabilities", 0, FLAG_STRING(struct confine_options, capabilities),
	  .choices = "none|bind|all", .initial = "none",
	  .help = "root capabilities to keep; bind: listen on ports below 1024" },
	{ "folder", 0, FLAG_STRING(struct confine_options, folder), .arg = "DIR",
	  .help = "folder that must stay accessible" },
	{ "program", 0, FLAG_STRING(struct confine_options, program), .arg = "PATH",
	  .help = "run this program instead of devplane" },
	{ "uid", 0, FLAG_INT(struct confine_options, uid), .arg = "ID", .initial = "0", .min = 0,
	  .max = UINT32_MAX - 1, .help = "become this user, and its group; 0: stay root" },
	{ "groups", 0, FLAG_LIST(struct confine_options, groups), .arg = "ID",
	  .help = "further groups, instead of those of the caller" },
	{ "landlock", 0, FLAG_BOOL(struct confine_options, landlock),
	  .help = "restrict file access to the paths of the next three flags" },
	{ "execute", 0, FLAG_REPEAT(struct confine_options, execute), .arg = "PATH",
	  .help = "programs and libraries" },
	{ "read", 0, FLAG_REPEAT(struct confine_options, read), .arg = "PATH",
	  .help = "files to read, or a folder of them" },
	{ "write", 0, FLAG_REPEAT(struct confine_options, write), .arg = "PATH",
	  .help = "files to read and write, or a folder of them" },
	{ "syscalls", 0, FLAG_STRING(struct confine_options, syscalls), .choices = SYSCALLS_CHOICES,
	  .initial = "all", .help = "the list of system calls that the role may make" },
	{ NULL },
};

/* --- powers ---------------------------------------------------------------------------------- */

static int set_capabilities(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective,
		  .permitted = (uint32_t)permitted,
		  .inheritable = (uint32_t)inheritable },
		{ .effective = (uint32_t)(effective >> 32),
		  .permitted = (uint32_t)(permitted >> 32),
		  .inheritable = (uint32_t)(inheritable >> 32) },
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

/* Checks with the privileges that the role will have. */
static bool reaches_all(const char *program, const char *folder, uint64_t permitted)
{
	bool ok;

	if (set_capabilities(0, permitted, 0) < 0)
		return true;
	ok = faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) == 0 &&
	     (!folder || faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) == 0);
	(void)set_capabilities(permitted, permitted, 0);
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
	if (o->uid == 0 && !reaches_all(program, o->folder, permitted))
		keep |= BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH);
	keep &= permitted;
	if (set_capabilities(permitted, permitted, 0) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot drop capabilities");
	for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (keep & BIT(i))
			continue;
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL && errno != EPERM)
			return error_set_errno(err, ERR_IO, errno, "cannot drop capabilities");
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Users other than root keep only ambient capabilities across an exec. */
	if (set_capabilities(keep, keep, o->uid != 0 ? keep : 0) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot drop capabilities");
	for (int i = 0; o->uid != 0 && i < 64; i++)
		if (keep & BIT(i))
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
	return 0;
}

/* --- users ----------------------------------------------------------------------------------- */

static int cannot_become(const struct confine_options *o, struct error *err)
{
	return error_set_errno(err, ERR_FORBIDDEN, errno,
			       "cannot become the user %lld: choose others with `devplane up "
			       "--uid-base`, or run all roles as this user with --uid-base 0",
			       (long long)o->uid);
}

static int set_groups(const struct confine_options *o, struct error *err)
{
	gid_t groups[8];
	size_t n = MIN(o->groups.n, ARRAY_SIZE(groups));
	int64_t id;

	for (size_t i = 0; i < n; i++) {
		if (!str_to_i64(str_from(o->groups.v[i]), &id) || id < 0 || id >= UINT32_MAX)
			return error_set(err, ERR_INVALID, "--groups: %s is not a group ID",
					 o->groups.v[i]);
		groups[i] = (gid_t)id;
	}
	return setgroups(n, groups) < 0 ? cannot_become(o, err) : 0;
}

/* Capabilities survive the change of user, so that drop_capabilities() decides about them. */
static int become_user(const struct confine_options *o, struct error *err)
{
	uid_t uid = (uid_t)o->uid;
	int r = 0;

	if (o->uid == 0 && o->groups.n == 0)
		return 0;
	r = set_groups(o, err);
	if (r < 0 || uid == 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return cannot_become(o, err);
	return 0;
}

/*
 * A role with its own user must be able to reach everything it needs; the error says how to fix
 * it.
 */
static int check_access(const struct confine_options *o, struct error *err)
{
	struct stat st;

	if (o->uid == 0)
		return 0;
	if (o->folder && faccessat(AT_FDCWD, o->folder, X_OK, AT_EACCESS) < 0)
		return error_set_errno(err, ERR_FORBIDDEN, errno,
				       "the user %lld cannot enter the folders above %s: allow it "
				       "(chmod o+x), choose another --data-dir, or run all roles "
				       "as root with --uid-base 0",
				       (long long)o->uid, o->folder);
	for (size_t i = 0; i < o->read.n; i++)
		if (faccessat(AT_FDCWD, o->read.v[i], R_OK, AT_EACCESS) < 0 && errno == EACCES &&
		    (stat(o->read.v[i], &st) < 0 || S_ISREG(st.st_mode)))
			return error_set_errno(err, ERR_FORBIDDEN, EACCES,
					       "the user %lld cannot read %s: allow it (chmod o+r; "
					       "o+x for folders above it), or run all roles as "
					       "root with --uid-base 0",
					       (long long)o->uid, o->read.v[i]);
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static int allow_all(const struct landlock *l, const struct flag_list *paths,
		     enum landlock_access access, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < paths->n && r == 0; i++)
		r = landlock_allow(l, paths->v[i], access, err);
	return r;
}

static int limit_files(const struct confine_options *o, struct error *err)
{
	struct landlock l;
	int r = o->landlock ? landlock_begin(&l, err) : 0;

	if (r < 0 || !o->landlock)
		return r;
	if (l.abi == 0)
		(void)fputs("this kernel has no Landlock: file modes alone protect files\n",
			    stderr);
	r = landlock_allow(&l, "/proc/self/exe", LANDLOCK_EXECUTE, err);
	if (r == 0)
		r = allow_all(&l, &o->execute, LANDLOCK_EXECUTE, err);
	if (r == 0)
		r = allow_all(&l, &o->read, LANDLOCK_READ, err);
	if (r == 0)
		r = allow_all(&l, &o->write, LANDLOCK_WRITE, err);
	return r < 0 ? r : landlock_enforce(&l, err);
}

/* --- becoming the role ----------------------------------------------------------------------- */

/* The parent may have died before we asked to be notified. */
static int follow_parent(int64_t parent, struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot follow the supervisor");
	if (getppid() != (pid_t)parent)
		return error_set(err, ERR_CANCELED, "the supervisor is gone");
	return 0;
}

/*
 * Uses the program's path, so that the process has its name. Uses the kernel's link if the program
 * was replaced meanwhile, or if this user may not traverse a folder above it.
 */
static const char *own_program(struct arena *a)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct stat named, own;

	if (n < 0)
		return "/proc/self/exe";
	path[n] = 0;
	if (access(path, X_OK) < 0 || stat(path, &named) < 0 || stat("/proc/self/exe", &own) < 0 ||
	    named.st_dev != own.st_dev || named.st_ino != own.st_ino)
		return "/proc/self/exe";
	return arena_strdup(a, str_from(path));
}

static int confine(const struct confine_options *o, struct arena *a, const char **ret_program,
		   struct error *err)
{
	int r = 0;

	/* With a limit of 1 the kernel writes no core, to a file or to a collecting program. */
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot set no_new_privs");
	if (r == 0)
		r = limit_files(o, err);
	if (r == 0)
		r = become_user(o, err);
	*ret_program = o->program ? o->program : own_program(a);
	if (r == 0)
		r = drop_capabilities(o, *ret_program, err);
	if (r == 0)
		r = follow_parent(o->parent, err);
	return r < 0 ? r : check_access(o, err);
}

static int confine_run(struct cli *cli, struct error *err)
{
	const struct confine_options *o = cli->options;
	const char *program;
	char **argv = ARENA_ARRAY(&cli->arena, char *, cli->operands.n + 2);
	int r;

	argv[0] = arena_strdup(&cli->arena, str_from(o->program ? o->program : cli->root->name));
	for (size_t i = 0; i < cli->operands.n; i++)
		argv[i + 1] = arena_strdup(&cli->arena, str_from(cli->operands.v[i]));
	r = confine(o, &cli->arena, &program, err);
	if (r < 0)
		return r;
	if (!o->program)
		(void)setenv(SYSCALLS_VARIABLE, o->syscalls, 1);
	(void)execv(program, argv);
	return error_set_errno(err, ERR_IO, errno, "cannot run %s", program);
}

const struct command cmd_confine = {
	.name = "confine",
	.summary = "run a role in a sandbox until its parent exits",
	.usage = "--parent PID [FLAGS] -- COMMAND ..",
	.group = COMMAND_TOOL,
	.hidden = true,
	.flags = flags,
	.options_size = sizeof(struct confine_options),
	.operands_min = 1,
	.operands_max = COMMAND_ANY,
	.run = confine_run,
};
