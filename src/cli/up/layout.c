/*
 * A folder that holds something else is rejected before anything is written to it: a slip such as
 * `--data-dir ~` would be tedious to clean up.
 */
#include "cli/up/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system/folder.h"
#include "cli/up/roles.h"

#define ROOT_DIR "/var/lib/devplane"

/* The longest socket names below a node's folder, without and with the simulated drivers. */
#define NODE_SOCKET   "device-plugins/kubelet.sock"
#define DRIVER_SOCKET "plugins_registry/fpga.sim.devplane.dev-reg.sock"

/* --- paths ---------------------------------------------------------------------------------- */

static int default_dir(struct arena *a, const char **ret_dir, struct error *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		*ret_dir = ROOT_DIR;
	else if (state && state[0] == '/')
		*ret_dir = arena_printf(a, "%s/devplane", state);
	else if (home && home[0] == '/')
		*ret_dir = arena_printf(a, "%s/.local/state/devplane", home);
	else
		return error_set(err, ERR_INVALID,
				 "no home folder ($HOME is not set): choose a folder with "
				 "--data-dir");
	return 0;
}

static int absolute(struct arena *a, const char **dir, struct error *err)
{
	char here[PATH_MAX];
	struct str text;

	if ((*dir)[0] != '/') {
		if (!getcwd(here, sizeof(here)))
			return error_set_errno(err, ERR_IO, errno,
					       "cannot find out the current folder");
		*dir = arena_printf(a, "%s/%s", here, *dir);
	}
	text = str_from(*dir);
	while (text.n > 1 && text.p[text.n - 1] == '/')
		text.n--;
	*dir = arena_strdup(a, text);
	return 0;
}

int up_layout_init(struct up_layout *l, struct arena *a, const char *dir, struct error *err)
{
	int r = dir ? 0 : default_dir(a, &dir, err);

	if (r == 0 && dir[0] == '\0')
		r = error_set(err, ERR_INVALID, "--data-dir is empty");
	if (r == 0)
		r = absolute(a, &dir, err);
	if (r < 0)
		return r;
	*l = (struct up_layout){ .arena = a,
				 .dir = dir,
				 .admin = arena_printf(a, "%s/admin.kubeconfig", dir),
				 .kubeconfigs = arena_printf(a, "%s/kubeconfig", dir),
				 .logs = arena_printf(a, "%s/log", dir),
				 .nodes = arena_printf(a, "%s/nodes", dir),
				 .cdi = arena_printf(a, "%s/cdi", dir),
				 .state = arena_printf(a, "%s/up.json", dir),
				 .lock = arena_printf(a, "%s/up.lock", dir),
				 .prometheus = arena_printf(a, "%s/prometheus.json", dir) };
	return 0;
}

const char *up_layout_kubeconfig(const struct up_layout *l, const char *role)
{
	return arena_printf(l->arena, "%s/%s.kubeconfig", l->kubeconfigs, role);
}

const char *up_layout_token(const struct up_layout *l, const char *role)
{
	return arena_printf(l->arena, "%s/%s.token", l->kubeconfigs, role);
}

const char *up_layout_serving(const struct up_layout *l, const char *role)
{
	return arena_printf(l->arena, "%s/%s.pem", l->kubeconfigs, role);
}

const char *up_layout_ca(const struct up_layout *l)
{
	return arena_printf(l->arena, "%s/pki/ca.crt", l->dir);
}

const char *up_layout_log(const struct up_layout *l, const char *role)
{
	return arena_printf(l->arena, "%s/%s.log", l->logs, role);
}

const char *up_layout_node(const struct up_layout *l, const char *node)
{
	return arena_printf(l->arena, "%s/%s", l->nodes, node);
}

/* --- making it ------------------------------------------------------------------------------- */

static bool layout_is_ours(const char *name)
{
	static const char *const names[] = { "pki", "store", "admin.kubeconfig", "up.json",
					     "up.lock" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Accepts an empty or missing folder, or one of a server or of ours. */
static int check_content(const char *dir, struct error *err)
{
	DIR *d = opendir(dir);
	bool ours = false, any = false;
	const struct dirent *e;

	if (!d)
		return errno == ENOENT ? 0
		       : errno == ENOTDIR
			       ? error_set(err, ERR_INVALID,
					   "%s is not a folder: choose another with --data-dir",
					   dir)
			       : error_set_errno(err, ERR_IO, errno,
						 "cannot read %s: choose another with --data-dir",
						 dir);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    strcmp(e->d_name, "lost+found") == 0)
			continue;
		any = true;
		ours = ours || layout_is_ours(e->d_name);
	}
	(void)closedir(d);
	if (any && !ours)
		return error_set(err, ERR_INVALID,
				 "%s contains other files: choose an empty folder, or one that "
				 "does not exist yet, with --data-dir",
				 dir);
	return 0;
}

static int cannot_write(struct error *err, const char *dir, int sys_errno)
{
	if (sys_errno == EROFS)
		return error_set(err, ERR_IO,
				 "%s is on a read-only file system: choose another folder with "
				 "--data-dir",
				 dir);
	return error_set_errno(err, ERR_IO, sys_errno,
			       "cannot write to %s: choose another folder with --data-dir", dir);
}

/* Creates a file to find out whether that is possible: the mode alone does not show it. */
static int check_writable(const struct up_layout *l, struct error *err)
{
	int fd = open(l->lock, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return cannot_write(err, l->dir, errno);
	(void)close(fd);
	return 0;
}

/* The roles' first uid at the last start, stored as the folder's group; 0: none. */
static unsigned last_base(const char *dir)
{
	struct stat st;

	if (geteuid() != 0 || stat(dir, &st) < 0 || (st.st_mode & 07777) != 0710)
		return 0;
	return st.st_gid - UP_ALL;
}

static bool is_owner(const struct stat *st, unsigned base)
{
	return st->st_uid == geteuid() || (base && st->st_uid == base + UP_SERVER_USER);
}

static bool others_write(const struct stat *st, unsigned base)
{
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP && !(base && st->st_gid == base + UP_DRIVERS));
}

/*
 * The folder holds keys. A user who could replace them would become the administrator, so the
 * folder must belong to the caller. Users of roles, numbered from `base` on, may own the folders
 * that root gave them.
 */
static int check_owner(const char *path, unsigned base, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : cannot_write(err, path, errno);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is not a folder: choose another with --data-dir", path);
	if (!is_owner(&st, base))
		return error_set(err, ERR_FORBIDDEN,
				 "%s belongs to another user (uid %u): choose a folder of your own "
				 "with --data-dir",
				 path, (unsigned)st.st_uid);
	if (others_write(&st, base))
		return error_set(err, ERR_FORBIDDEN,
				 "%s can be written by others: take that from them (chmod go-w), "
				 "or choose another with --data-dir",
				 path);
	return 0;
}

static int make_one(const char *path, unsigned base, struct error *err)
{
	struct error why;

	if (folder_make(path, 0700, &why) < 0)
		return cannot_write(err, path, why.sys_errno);
	return check_owner(path, base, err);
}

int up_layout_make(const struct up_layout *l, struct error *err)
{
	const char *const below[] = { l->kubeconfigs, l->logs, l->nodes, l->cdi };
	const char *const servers[] = { "pki", "store" };
	unsigned base = last_base(l->dir);
	int r = str_is_utf8(str_from(l->dir)) ? check_content(l->dir, err)
					      : error_set(err, ERR_INVALID,
							  "the name of the folder is not UTF-8: "
							  "choose another with --data-dir");

	if (r == 0)
		r = make_one(l->dir, 0, err);
	if (r == 0)
		r = check_writable(l, err);
	for (size_t i = 0; i < ARRAY_SIZE(below) && r == 0; i++)
		r = make_one(below[i], base, err);
	for (size_t i = 0; i < ARRAY_SIZE(servers) && r == 0; i++)
		r = check_owner(arena_printf(l->arena, "%s/%s", l->dir, servers[i]), base, err);
	return r;
}

int up_layout_check_sockets(const struct up_layout *l, const char *node, bool drivers,
			    struct error *err)
{
	const char *name = drivers ? DRIVER_SOCKET : NODE_SOCKET;
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	size_t below = strlen("/nodes/") + strlen(node) + 1 + strlen(name);

	if (strlen(l->dir) + below <= most)
		return 0;
	return error_set(err, ERR_INVALID,
			 "the path %s is too long: sockets below it may have %zu bytes in all, so "
			 "that it may have %zu; it has %zu. Choose a shorter one with --data-dir",
			 l->dir, most, below < most ? most - below : 0, strlen(l->dir));
}
