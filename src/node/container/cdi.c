/*
 * All files of all folders are read each time: they are few and small, drivers write and remove
 * them at any moment, and a cache could be out of date.
 *
 * The edits of a file as a whole are applied once, before those of its first device.
 */
#include "node/container/cdi.h"

#include <dirent.h>
#include <errno.h>

#include "base/core/vec.h"
#include "base/system/file.h"
#include "node/container/cdi_spec.h"
#include "node/node_limits.h"

struct spec_file {
	const char *path;
	size_t priority; /* higher wins */
	struct json *spec;
	bool applied; /* its own edits have been applied */
};

struct scan {
	struct arena *a;
	VEC(struct spec_file) files;
	struct error broken; /* the first file that could not be read; code ERR_OK: none */
};

bool cdi_valid_name(struct str id)
{
	ptrdiff_t at = str_chr(id, '=');

	return at > 0 && cdi_spec_valid_kind(str_of(id.p, (size_t)at)) &&
	       cdi_spec_valid_device(str_skip(id, (size_t)at + 1));
}

/* --- files ---------------------------------------------------------------------------------- */

static int read_spec(struct arena *a, const char *path, struct json **ret_spec, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(CDI_FILE_MAX);
	int r = file_read(path, &b, err);

	if (r < 0)
		return r;
	/* JSON's strings point into the text. */
	return cdi_spec_parse(a, arena_str(a, buf_str(&b)), str_ends(str_from(path), STR(".json")),
			      ret_spec, err);
}

static bool is_spec_name(struct str name)
{
	return name.p[0] != '.' && (str_ends(name, STR(".json")) || str_ends(name, STR(".yaml")) ||
				    str_ends(name, STR(".yml")));
}

static void add_file(struct scan *s, const char *dir, const char *name, size_t priority)
{
	struct spec_file f = { .path = arena_printf(s->a, "%s/%s", dir, name),
			       .priority = priority };
	struct error err;
	int r = read_spec(s->a, f.path, &f.spec, &err);

	if (r == 0) {
		(void)vec_push(&s->files, f);
	} else if (r != -ERR_NOT_FOUND && s->broken.code == ERR_OK) {
		/* The file may have been removed meanwhile; other errors are reported. */
		(void)error_wrap(&err, r, "%s", f.path);
		s->broken = err;
	}
}

static int scan_dir(struct scan *s, const char *dir, size_t priority, struct error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!d)
		return error_set_errno(err, ERR_IO, errno, "cannot read the CDI folder %s", dir);
	while ((e = readdir(d)) != NULL && s->files.n < CDI_FILES_MAX) {
		if (is_spec_name(str_from(e->d_name)))
			add_file(s, dir, e->d_name, priority);
	}
	(void)closedir(d);
	if (e)
		return error_set(err, ERR_TOO_LARGE, "more than %d CDI files", CDI_FILES_MAX);
	return 0;
}

/* --- names ---------------------------------------------------------------------------------- */

static int cdi_find(const struct scan *s, struct str id, struct spec_file **ret_file,
		    struct json **ret_device, struct error *err)
{
	size_t at = (size_t)str_chr(id, '=');
	struct str kind = str_of(id.p, at), name = str_skip(id, at + 1);
	struct spec_file *best = NULL, *rival = NULL;

	for (size_t i = 0; i < s->files.n; i++) {
		struct spec_file *f = &s->files.v[i];

		if (!str_eq(cdi_spec_kind(f->spec), kind) || !cdi_spec_device(f->spec, name))
			continue;
		if (!best || f->priority > best->priority) {
			best = f;
			rival = NULL;
		} else if (f->priority == best->priority) {
			rival = f;
		}
	}
	if (rival)
		return error_set(err, ERR_CONFLICT, "both %s and %s define CDI device %.*s",
				 best->path, rival->path, STR_ARG(id));
	if (!best)
		return error_set(err, ERR_NOT_FOUND, "no CDI file defines device %.*s%s%s%s",
				 STR_ARG(id), s->broken.code == ERR_OK ? "" : " (unusable: ",
				 s->broken.code == ERR_OK ? "" : s->broken.msg,
				 s->broken.code == ERR_OK ? "" : ")");
	*ret_file = best;
	*ret_device = cdi_spec_device(best->spec, name);
	return 0;
}

static int apply_one(const struct scan *s, struct str id, struct container_spec *io,
		     struct error *err)
{
	struct spec_file *f = NULL;
	struct json *device = NULL;
	int r = cdi_find(s, id, &f, &device, err);

	if (r < 0)
		return r;
	if (!f->applied)
		r = cdi_edits_apply(json_getz(f->spec, "containerEdits"), s->a, io, err);
	f->applied = true;
	if (r == 0)
		r = cdi_edits_apply(json_getz(device, "containerEdits"), s->a, io, err);
	return r < 0 ? error_wrap(err, r, "CDI device %.*s (%s)", STR_ARG(id), f->path) : 0;
}

static bool is_first(const struct str *ids, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (str_eq(ids[j], ids[i]))
			return false;
	}
	return true;
}

static int apply_all(const struct scan *s, const struct str *ids, size_t n,
		     struct container_spec *io, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = 0;

		if (!cdi_valid_name(ids[i]))
			return error_set(err, ERR_INVALID, "\"%.*s\" is not a CDI device name",
					 STR_ARG(ids[i]));
		if (is_first(ids, i))
			r = apply_one(s, ids[i], io, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int cdi_apply(const struct cdi_dirs *dirs, const struct str *ids, size_t n, struct arena *a,
	      struct container_spec *io, struct error *err)
{
	struct scan s = { .a = a };
	int r = 0;

	if (n == 0)
		return 0;
	vec_init(&s.files, CDI_FILES_MAX);
	for (size_t i = 0; i < dirs->n && r == 0; i++)
		r = scan_dir(&s, dirs->v[i], i, err);
	if (r == 0)
		r = apply_all(&s, ids, n, io, err);
	vec_release(&s.files);
	return r;
}
