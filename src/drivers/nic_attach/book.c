/*
 * The book is a list in memory and one JSON file that every save replaces: a node has dozens of
 * interfaces in pods, not thousands. Marks of pods and namespaces are empty files. A save creates
 * new marks, writes the file, then removes old marks. So at any time each pod in the file has its
 * marks, and the next start removes surplus ones.
 */
#include "drivers/nic_attach/book_impl.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/cdi_file.h"

enum { FORMAT = 1 };

struct mark {
	struct list link;
	bool fresh; /* created for the current save */
	bool used;
	char name[];
};

/* One folder of marks. */
struct marks {
	char *folder;
	struct list all; /* of struct mark; those on disk */
	struct map by_name; /* the same */
};

enum { BY_POD, BY_NAMESPACE, MARKS };

struct nic_book {
	struct list uses;
	size_t n;
	struct marks marks[MARKS];
	char *file;
	char *boot;
	void (*warn)(void *arg, const char *message);
	void *arg;
};

void nic_book_warn(const struct nic_book *b, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(LOG_LINE_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (b->warn)
		b->warn(b->arg, text.p ? text.p : "");
}

/* --- marks -------------------------------------------------------------------------------- */

/* The file name of a use's mark in a folder. */
static struct str mark_name(int kind, const struct nic_use *u)
{
	return str_from(kind == BY_POD ? u->pod_uid : u->claim_ns);
}

static const char *mark_path(const struct marks *k, const char *name, struct buf *path)
{
	buf_clear(path);
	(void)buf_printf(path, "%s/%s", k->folder, name);
	return path->p;
}

static struct mark *mark_add(struct marks *k, const char *name)
{
	size_t n = strlen(name) + 1;
	struct mark *m = xcalloc(1, sizeof(*m) + n);

	memcpy(m->name, name, n);
	list_push_back(&k->all, &m->link);
	(void)map_put(&k->by_name, str_from(m->name), m);
	return m;
}

static void mark_forget(struct marks *k, struct mark *m)
{
	(void)map_remove(&k->by_name, str_from(m->name));
	list_remove(&m->link);
	free(m);
}

/* If a mark cannot be removed, the next save retries. */
static void mark_remove(const struct nic_book *b, struct marks *k, struct mark *m)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);

	if (unlink(mark_path(k, m->name, &path)) < 0 && errno != ENOENT)
		nic_book_warn(b, "cannot remove %s: %s", path.p, strerror(errno));
	else
		mark_forget(k, m);
}

static int mark_make(struct marks *k, int kind, const struct nic_use *u, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct str name = mark_name(kind, u);
	int r;

	if (map_get(&k->by_name, name))
		return 0;
	if (!cdi_file_is_safe(name))
		return error_set(err, ERR_INVALID, "the pod's %s \"%.*s\" can be no file's name",
				 kind == BY_POD ? "uid" : "namespace", STR_ARG(name));
	r = file_write_atomic(mark_path(k, name.p, &path), STR(""), 0600, err);
	if (r == 0)
		mark_add(k, name.p)->fresh = true;
	return r;
}

/* Creates missing marks for all uses, and flags them as fresh. */
static int marks_make(struct nic_book *b, struct error *err)
{
	int r = 0;

	LIST_FOREACH (it, &b->uses)
		for (int kind = 0; kind < MARKS && r == 0; kind++)
			r = mark_make(&b->marks[kind], kind, LIST_ENTRY(it, struct nic_use, link),
				      err);
	return r;
}

static void marks_settle(struct nic_book *b, bool saved)
{
	for (struct marks *k = b->marks; k < b->marks + MARKS; k++)
		LIST_FOREACH_SAFE (it, &k->all) {
			struct mark *m = LIST_ENTRY(it, struct mark, link);

			if (m->fresh && !saved)
				mark_remove(b, k, m);
			else
				m->fresh = false;
		}
}

static void marks_sweep(struct nic_book *b, int kind)
{
	struct marks *k = &b->marks[kind];

	LIST_FOREACH (it, &k->all)
		LIST_ENTRY(it, struct mark, link)->used = false;
	LIST_FOREACH (it, &b->uses) {
		struct mark *m = map_get(&k->by_name,
					 mark_name(kind, LIST_ENTRY(it, struct nic_use, link)));

		if (m)
			m->used = true;
	}
	LIST_FOREACH_SAFE (it, &k->all) {
		struct mark *m = LIST_ENTRY(it, struct mark, link);

		if (!m->used)
			mark_remove(b, k, m);
	}
}

static void marks_sweep_all(struct nic_book *b)
{
	for (int kind = 0; kind < MARKS; kind++)
		marks_sweep(b, kind);
}

/* Every file in the folder counts as a mark. */
static int marks_read(struct marks *k, struct error *err)
{
	struct dirent *e;
	DIR *d;
	int r = folder_make(k->folder, 0750, err);

	if (r < 0)
		return r;
	d = opendir(k->folder);
	if (!d)
		return error_set_errno(err, ERR_IO, errno, "cannot read %s", k->folder);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)mark_add(k, e->d_name);
	(void)closedir(d);
	return 0;
}

static void marks_init(struct marks *k, const char *dir, const char *name)
{
	struct buf folder = BUF_INIT(4 * KIB);

	list_init(&k->all);
	map_init(&k->by_name);
	(void)buf_printf(&folder, "%s/%s", dir, name);
	k->folder = buf_take(&folder);
}

static void marks_release(struct marks *k)
{
	LIST_FOREACH_SAFE (it, &k->all)
		mark_forget(k, LIST_ENTRY(it, struct mark, link));
	map_release(&k->by_name);
	free(k->folder);
}

/* --- the file ----------------------------------------------------------------------------- */

static bool has_use(const struct nic_book *b, const struct nic_use *u)
{
	LIST_FOREACH (it, &b->uses) {
		const struct nic_use *o = LIST_ENTRY(it, struct nic_use, link);

		if (strcmp(o->claim_uid, u->claim_uid) == 0 && strcmp(o->pool, u->pool) == 0 &&
		    strcmp(o->nic.device, u->nic.device) == 0 &&
		    str_eqz(str_from(o->share_id), u->share_id))
			return true;
	}
	return false;
}

static int read_use(struct nic_book *b, const struct json *tree, struct error *err)
{
	CLEANUP(nic_use_free) struct nic_use *u = nic_use_new();
	int r;

	if (b->n == NIC_USES_MAX)
		return error_set(err, ERR_TOO_LARGE, "more than %d uses", NIC_USES_MAX);
	r = nic_use_from_tree(u, tree, err);
	if (r < 0)
		return r;
	if (has_use(b, u))
		return error_set(err, ERR_INVALID, "device %s is there twice", u->nic.device);
	list_push_back(&b->uses, &u->link);
	b->n++;
	u->saved = true;
	u = NULL;
	return 0;
}

/* Reads as many uses as possible; returns the first error. */
static int read_uses(struct nic_book *b, const struct json *tree, struct error *err)
{
	const struct json *list = json_getz(tree, "uses");
	struct error why;
	int r = 0;
	size_t i = 0;

	if (json_i64_at(tree, "version", 0) != FORMAT)
		return error_set(err, ERR_INVALID, "it is not of version %d", FORMAT);
	if (!json_is(list, JSON_ARRAY))
		return error_set(err, ERR_INVALID, "uses is not a list");
	JSON_FOREACH (it, list) {
		if (read_use(b, it, &why) < 0 && r == 0)
			r = error_set(err, why.code, "uses[%zu]: %s", i, why.msg);
		i++;
	}
	return r;
}

/* Paths, numbers of namespaces and indexes may be reused after a reboot. */
static void forget_namespaces(struct nic_book *b)
{
	LIST_FOREACH (it, &b->uses) {
		struct nic_use *u = LIST_ENTRY(it, struct nic_use, link);

		u->netns_id = 0;
		u->index = 0;
	}
}

/* The file of an older driver has no boot ID. */
static bool is_of_another_boot(const struct nic_book *b, const struct json *tree)
{
	struct str boot = json_text_at(tree, "bootID");

	return boot.n > 0 && *b->boot && !str_eqz(boot, b->boot);
}

static int book_parse(struct nic_book *b, struct str text, struct error *err)
{
	struct json *tree;
	struct arena a;
	int r;

	arena_init(&a, DRIVER_CHECKPOINT_MAX * 8);
	r = json_parse(&a, text, NULL, &tree, err);
	if (r == 0) {
		r = read_uses(b, tree, err);
		if (is_of_another_boot(b, tree))
			forget_namespaces(b);
	}
	arena_release(&a);
	return r;
}

/* Links the old file to a second name before it is replaced, so that it always exists. */
static int set_aside(struct nic_book *b, const char *why, struct error *err)
{
	CLEANUP(buf_release) struct buf aside = BUF_INIT(4 * KIB);

	(void)buf_printf(&aside, "%s.bad", b->file);
	(void)unlink(aside.p);
	if (link(b->file, aside.p) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot set %s aside", b->file);
	nic_book_warn(b, "cannot read %s (%s); moved it to %s; %zu of its uses are known", b->file,
		      why, aside.p, b->n);
	return nic_book_save(b, err);
}

static int load(struct nic_book *b, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_CHECKPOINT_MAX);
	struct error why;
	int r;

	r = file_read(b->file, &text, &why);
	if (r == -ERR_NOT_FOUND)
		return 0;
	if (r < 0 && r != -ERR_TOO_LARGE)
		return error_set(err, why.code, "%s", why.msg);
	if (r < 0 || book_parse(b, buf_str(&text), &why) < 0)
		return set_aside(b, why.msg, err);
	return 0;
}

/* An invalid file would lose all uses at the next start. */
static int check_text(const struct nic_book *b, struct str text, struct error *err)
{
	struct json *tree;
	struct arena a;
	int r;

	arena_init(&a, DRIVER_CHECKPOINT_MAX * 8);
	r = json_parse(&a, text, NULL, &tree, err);
	arena_release(&a);
	return r < 0 ? error_wrap(err, -ERR_INVALID, "%s could not be read again", b->file) : 0;
}

static int write_file(struct nic_book *b, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_CHECKPOINT_MAX);
	struct json *tree, *list;
	struct arena a;
	int r;

	arena_init(&a, SIZE_MAX);
	tree = json_make_object(&a);
	json_put_i64(&a, tree, "version", FORMAT);
	json_put_str(&a, tree, "bootID", str_from(b->boot));
	list = json_need_array(&a, tree, "uses");
	LIST_FOREACH (it, &b->uses)
		json_append(list, nic_use_tree(LIST_ENTRY(it, struct nic_use, link), &a));
	r = json_print(&text, tree, NULL);
	arena_release(&a);
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "%s would be larger than %zu bytes", b->file,
				 text.max);
	r = check_text(b, buf_str(&text), err);
	return r < 0 ? r : file_write_atomic(b->file, buf_str(&text), 0600, err);
}

/* --- public ------------------------------------------------------------------------------- */

int nic_book_open(const char *dir, void (*warn)(void *arg, const char *message), void *arg,
		  struct nic_book **ret_book, struct error *err)
{
	CLEANUP(nic_book_close) struct nic_book *b = XNEW(struct nic_book);
	struct buf file = BUF_INIT(4 * KIB);
	int r;

	list_init(&b->uses);
	marks_init(&b->marks[BY_POD], dir, NIC_MARKS_PODS);
	marks_init(&b->marks[BY_NAMESPACE], dir, NIC_MARKS_NAMESPACES);
	b->warn = warn;
	b->arg = arg;
	(void)buf_printf(&file, "%s/interfaces.json", dir);
	b->file = buf_take(&file);
	b->boot = boot_id();

	r = marks_read(&b->marks[BY_POD], err);
	if (r == 0)
		r = marks_read(&b->marks[BY_NAMESPACE], err);
	if (r == 0)
		r = load(b, err);
	if (r == 0)
		r = marks_make(b, err);
	if (r < 0)
		return r;
	marks_settle(b, true);
	marks_sweep_all(b);
	*ret_book = TAKE(b);
	return 0;
}

void nic_book_close(struct nic_book *b)
{
	if (!b)
		return;
	LIST_FOREACH_SAFE (it, &b->uses)
		nic_use_free(LIST_ENTRY(it, struct nic_use, link));
	for (int kind = 0; kind < MARKS; kind++)
		marks_release(&b->marks[kind]);
	free(b->file);
	free(b->boot);
	free(b);
}

struct nic_use *nic_book_add(struct nic_book *b)
{
	struct nic_use *u;

	if (b->n == NIC_USES_MAX)
		return NULL;
	u = nic_use_new();
	list_push_back(&b->uses, &u->link);
	b->n++;
	return u;
}

void nic_book_remove(struct nic_book *b, struct nic_use *u)
{
	list_remove(&u->link);
	b->n--;
	nic_use_free(u);
}

const char *nic_use_text(struct nic_use *u, struct str text)
{
	return text.p ? arena_strdup(&u->arena, text) : NULL;
}

void nic_use_set_sandbox(struct nic_use *u, const char *container_id, const char *netns,
			 const char *cni_path)
{
	struct arena old = u->stay;

	/* The arguments may point into the old arena. */
	arena_init(&u->stay, NIC_USE_MAX);
	u->container_id = arena_strdup(&u->stay, str_from(container_id));
	u->netns = arena_strdup(&u->stay, str_from(netns));
	u->cni_path = cni_path ? arena_strdup(&u->stay, str_from(cni_path)) : NULL;
	u->cni_network = NULL;
	u->cni_result = NULL;
	u->altnames = NULL;
	u->naltnames = 0;
	arena_release(&old);
}

void nic_use_set_network(struct nic_use *u, const char *network)
{
	u->cni_network = *network ? arena_strdup(&u->stay, str_from(network)) : NULL;
}

void nic_use_add_altname(struct nic_use *u, const char *name)
{
	if (u->naltnames == NIC_ALTNAMES_MAX || !str_is_utf8(str_from(name)))
		return;
	if (!u->altnames)
		u->altnames = ARENA_ARRAY(&u->stay, const char *, NIC_ALTNAMES_MAX);
	u->altnames[u->naltnames++] = arena_strdup(&u->stay, str_from(name));
}

/* A result that is nested too deep could be printed, but not parsed as part of the file. */
static int check_result(const struct json *result, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(NIC_RESULT_MAX);
	struct json_options options = { .depth_max = NIC_RESULT_DEPTH };
	struct json *tree;
	struct arena a;
	int r;

	if (json_print(&text, result, NULL) < 0)
		return error_set(err, ERR_TOO_LARGE, "the plugin's result has more than %zu bytes",
				 text.max);
	arena_init(&a, SIZE_MAX);
	r = json_parse(&a, buf_str(&text), &options, &tree, err);
	arena_release(&a);
	return r < 0 ? error_wrap(err, r, "the plugin's result") : 0;
}

int nic_use_set_result(struct nic_use *u, const struct json *result, struct error *err)
{
	struct json *copy = NULL;
	int r;

	r = result ? check_result(result, err) : 0;
	if (r == 0 && result)
		r = json_copy(&u->stay, result, &copy, err);
	if (r == 0)
		u->cni_result = copy;
	return r;
}

int nic_use_check(const struct nic_use *u, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(NIC_USE_FILE_MAX + NIC_RESULT_MAX);
	struct arena a;
	int r;

	if (!u->cni_result)
		text.max = NIC_USE_FILE_MAX;
	arena_init(&a, SIZE_MAX);
	r = json_print(&text, nic_use_tree(u, &a), NULL);
	arena_release(&a);
	return r < 0 ? error_set(err, ERR_TOO_LARGE,
				 "device %s: its configuration and the data about its pod exceed "
				 "%zu bytes",
				 u->nic.device, text.max)
		     : 0;
}

static int check_new(const struct nic_book *b, struct error *err)
{
	int r = 0;

	LIST_FOREACH (it, &b->uses) {
		const struct nic_use *u = LIST_ENTRY(it, struct nic_use, link);

		if (!u->saved && r == 0)
			r = nic_use_check(u, err);
	}
	return r;
}

int nic_book_save(struct nic_book *b, struct error *err)
{
	struct error why;
	int r;

	r = check_new(b, &why);
	if (r == 0)
		r = marks_make(b, &why);
	if (r == 0)
		r = write_file(b, &why);
	marks_settle(b, r == 0);
	if (r == 0) {
		LIST_FOREACH (it, &b->uses)
			LIST_ENTRY(it, struct nic_use, link)->saved = true;
		marks_sweep_all(b);
		return 0;
	}
	if (why.sys_errno == ENOSPC || why.sys_errno == EDQUOT)
		(void)error_set(err, why.code, "%s; free some space there, it is tried again",
				why.msg);
	else
		(void)error_set(err, why.code, "%s", why.msg);
	if (err)
		err->sys_errno = why.sys_errno;
	return r;
}

struct nic_use *nic_book_next(const struct nic_book *b, const struct nic_use *after)
{
	const struct list *at = after ? after->link.next : b->uses.next;

	return at == &b->uses ? NULL : LIST_ENTRY(at, struct nic_use, link);
}

struct nic_use *nic_book_by_device(const struct nic_book *b, struct str pool, struct str device)
{
	LIST_FOREACH (it, &b->uses) {
		struct nic_use *u = LIST_ENTRY(it, struct nic_use, link);

		if (str_eqz(pool, u->pool) && str_eqz(device, u->nic.device))
			return u;
	}
	return NULL;
}
