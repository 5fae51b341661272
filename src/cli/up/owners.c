/*
 * A role may have put anything into its own folders. So their content is accessed by descriptors,
 * starting at folders that only root can change, and is only ever given to that role.
 */
#include "cli/up/owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/folder.h"
#include "server/startup/bootstrap.h"

enum { DEPTH_MAX = 16 };

struct owner {
	unsigned uid, gid;
};

static const struct owner root = { 0, 0 };

/* --- content of folders ---------------------------------------------------------------------- */

static int give_below(int dir, struct owner o, int depth);

/* A file with several hard links may belong to somebody else under another name. */
static bool is_shared(const struct stat *st)
{
	return !S_ISDIR(st->st_mode) && st->st_nlink > 1;
}

/* Returns 0, or errno. */
static int give_entry(int dir, const char *name, struct owner o, int depth)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), failed = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (fstat(fd, &st) < 0 ||
	    (!is_shared(&st) && fchownat(fd, "", o.uid, o.gid, AT_EMPTY_PATH) < 0))
		failed = errno;
	(void)close(fd);
	if (failed || !S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
		return failed;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? errno : give_below(fd, o, depth + 1);
}

/* Takes over the descriptor. */
static int give_below(int dir, struct owner o, int depth)
{
	DIR *d = fdopendir(dir);
	const struct dirent *e;
	int failed = 0;

	if (!d) {
		(void)close(dir);
		return errno;
	}
	while (!failed && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			failed = give_entry(dirfd(d), e->d_name, o, depth);
	(void)closedir(d);
	return failed;
}

/* --- folders ---------------------------------------------------------------------------------- */

static int cannot_give(const char *path, int sys_errno, struct error *err)
{
	return error_set_errno(err, ERR_IO, sys_errno,
			       "cannot give %s to the user of its role: run all roles as this user "
			       "with --uid-base 0",
			       path);
}

/* Creates the folder if it is missing. Its content is not changed. */
static int set_folder(const char *path, struct owner o, mode_t mode, struct error *err)
{
	int fd, failed = 0;
	int r = folder_make(path, 0700, err);

	if (r < 0 || geteuid() != 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cannot_give(path, errno, err);
	if (fchown(fd, o.uid, o.gid) < 0 || fchmod(fd, mode) < 0)
		failed = errno;
	(void)close(fd);
	return failed ? cannot_give(path, failed, err) : 0;
}

/* The same, with everything in it. */
static int set_tree(const char *path, struct owner o, mode_t mode, struct error *err)
{
	int fd, failed;
	int r = set_folder(path, o, mode, err);

	if (r < 0 || geteuid() != 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	failed = fd < 0 ? errno : give_below(fd, o, 1);
	return failed ? cannot_give(path, failed, err) : 0;
}

/* A file in a folder of root's, if it exists. */
static int set_file(const char *path, struct owner o, struct error *err)
{
	int failed = geteuid() == 0 ? give_entry(AT_FDCWD, path, o, DEPTH_MAX) : 0;

	return failed ? cannot_give(path, failed, err) : 0;
}

/* --- roles ------------------------------------------------------------------------------------ */

static const char *owners_below(const struct up_plan *p, const char *dir, const char *name)
{
	return arena_printf(p->arena, "%s/%s", dir, name);
}

static struct owner owners_owner_of(const struct up_plan *p, const struct up_role *r)
{
	unsigned uid = up_role_user(p, r).uid;

	return (struct owner){ uid, uid };
}

/* The agent would create these folders, too; here its drivers get access as well. */
static int set_node(const struct up_plan *p, const struct up_role *r, struct error *err)
{
	const char *dir = up_layout_node(&p->layout, r->node);
	struct owner agent = { 0, up_node_group(p, r->place) };
	bool users = p->uid_base != 0;
	int ret = set_folder(dir, (struct owner){ 0, up_driver_group(p, r->place) }, 0710, err);

	if (ret == 0)
		ret = set_folder(owners_below(p, dir, "plugins"), agent, users ? 02711 : 0750, err);
	if (ret == 0)
		ret = set_folder(owners_below(p, dir, "plugins_registry"), agent,
				 users ? 03773 : 0750, err);
	if (ret == 0)
		ret = set_folder(owners_below(p, dir, "devplane-sim"), root, users ? 01773 : 0750,
				 err);
	return ret;
}

static int set_driver(const struct up_plan *p, const struct up_role *r, struct error *err)
{
	const char *dir = up_layout_node(&p->layout, r->node), *name = up_driver_name(p, r);
	struct owner own = owners_owner_of(p, r), shared = { own.uid, up_node_group(p, r->place) };
	int ret = set_tree(arena_printf(p->arena, "%s/plugins/%s", dir, name), shared,
			   p->uid_base ? 02710 : 0750, err);

	if (ret == 0)
		ret = set_file(arena_printf(p->arena, "%s/plugins_registry/%s-reg.sock", dir, name),
			       shared, err);
	if (ret == 0)
		ret = set_file(arena_printf(p->arena, "%s/devplane-sim/%s.sock", dir, name), own,
			       err);
	return ret;
}

/* With etcd the server reads its name from a file in the folder, but may not write there. */
static int set_name(const struct up_plan *p, struct owner server, struct error *err)
{
	int r = p->uid_base && p->etcd_servers && p->etcd_servers->n > 0
			? bootstrap_identity(p->layout.dir, err)
			: 0;

	return r < 0 ? r : set_file(owners_below(p, p->layout.dir, "server-id"), server, err);
}

static int set_server(const struct up_plan *p, const struct up_role *r, struct error *err)
{
	struct owner server = owners_owner_of(p, r);
	int ret = set_tree(owners_below(p, p->layout.dir, "pki"), server, p->uid_base ? 0711 : 0700,
			   err);

	if (ret == 0)
		ret = set_tree(owners_below(p, p->layout.dir, "store"), server, 0700, err);
	return ret < 0 ? ret : set_name(p, server, err);
}

static int set_role(const struct up_plan *p, const struct up_role *r, struct error *err)
{
	if (r->kind == UP_SERVER)
		return set_server(p, r, err);
	if (r->kind == UP_NODE && r->place >= 0)
		return set_node(p, r, err);
	if (r->kind == UP_NODE || r->kind == UP_HOLLOW)
		return folder_make(up_layout_node(&p->layout, r->node), 0750, err);
	return r->kind == UP_DRIVER ? set_driver(p, r, err) : 0;
}

static int set_common(const struct up_plan *p, struct error *err)
{
	bool users = p->uid_base != 0;
	struct owner all = { 0, users ? (unsigned)p->uid_base + UP_ALL : 0 };
	struct owner drivers = { 0, users ? (unsigned)p->uid_base + UP_DRIVERS : 0 };
	int r = set_folder(p->layout.dir, all, users ? 0710 : 0700, err);

	if (r == 0)
		r = set_folder(p->layout.kubeconfigs, root, users ? 0711 : 0700, err);
	if (r == 0)
		r = set_folder(p->layout.nodes, root, users ? 0711 : 0700, err);
	if (r == 0)
		r = set_tree(p->layout.cdi, drivers, users ? 0770 : 0700, err);
	return r;
}

int up_owners_set(const struct up_plan *p, struct error *err)
{
	int r = set_common(p, err);

	for (size_t i = 0; i < p->n && r == 0; i++)
		r = set_role(p, &p->roles[i], err);
	return r;
}
