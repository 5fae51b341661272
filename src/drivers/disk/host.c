/*
 * Each round reads everything again: files of the kernel are cheap, and this needs no bookkeeping
 * of changes. A file that vanishes meanwhile is skipped.
 */
#include "drivers/disk/host.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "drivers/drivers_limits.h"

enum {
	SEARCH_DEPTH = 2, /* of folders that hold pods: kubelet.slice/kubelet-kubepods.slice */
	PODS_DEPTH = 3, /* from there to a pod: QoS classes */
	CONTAINER_DEPTH = 4, /* below a pod, if v1 must be added up */
};

/* --- small files ----------------------------------------------------------------------------- */

PRINTF_LIKE(2, 3) static bool path_print(char out[static PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, PATH_MAX, fmt, ap);
	va_end(ap);
	return n > 0 && n < PATH_MAX;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static bool has_word(const char *path, struct str word)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
	struct str rest, piece;

	if (file_read(path, &text, NULL) < 0)
		return false;
	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	rest = buf_str(&text);
	while (str_split(&rest, ' ', &piece))
		if (str_eq(piece, word))
			return true;
	return false;
}

/* --- which hierarchy ------------------------------------------------------------------------- */

static bool use_v2(struct disk_host *h, const char *dir)
{
	char path[PATH_MAX];

	if (!path_print(path, "%s/cgroup.controllers", dir) || !has_word(path, STR("io")))
		return false;
	h->groups = DISK_GROUPS_V2;
	h->groups_file = "io.stat";
	return path_print(h->groups_dir, "%s", dir);
}

static bool use_v1(struct disk_host *h, const char *dir)
{
	static const char *const files[] = { "blkio.throttle.io_service_bytes_recursive",
					     "blkio.throttle.io_service_bytes" };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!path_print(path, "%s/%s", dir, files[i]) || !exists(path))
			continue;
		h->groups = DISK_GROUPS_V1;
		h->groups_file = files[i];
		h->groups_sum = i > 0;
		return path_print(h->groups_dir, "%s", dir);
	}
	return false;
}

static void find_groups(struct disk_host *h, const char *root)
{
	char unified[PATH_MAX], blkio[PATH_MAX];

	if (!path_print(unified, "%s/unified", root) || !path_print(blkio, "%s/blkio", root))
		return;
	if (use_v2(h, root) || use_v1(h, blkio) || use_v2(h, unified))
		return;
	h->groups = DISK_GROUPS_NONE;
	(void)error_set(&h->groups_why, ERR_NOT_FOUND,
			"%s has neither the io controller of cgroup v2 nor v1's blkio", root);
}

int disk_host_open(struct disk_host *h, const struct disk_host_opts *opts, struct error *err)
{
	char path[PATH_MAX];

	*h = (struct disk_host){ .proc_root = opts->proc_root ? opts->proc_root : "/proc",
				 .sys_root = opts->sys_root ? opts->sys_root : "/sys" };
	if (!path_print(path, "%s/diskstats", h->proc_root) || access(path, R_OK) < 0)
		return error_set(err, ERR_IO,
				 "cannot read %s, which has the disks' counters; set --proc-root",
				 path);
	if (opts->cgroup_root)
		find_groups(h, opts->cgroup_root);
	else if (path_print(path, "%s/fs/cgroup", h->sys_root))
		find_groups(h, path);
	return 0;
}

/* --- devices --------------------------------------------------------------------------------- */

/* Reads a device's properties from /sys/block. */
static struct disk_hardware disk_host_hardware(const struct disk_host *h, const char *name)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT(64);
	struct disk_hardware r = { 0 };
	char path[PATH_MAX];

	r.whole = path_print(path, "%s/block/%s", h->sys_root, name) && exists(path);
	r.device = path_print(path, "%s/block/%s/device", h->sys_root, name) && exists(path);
	if (path_print(path, "%s/block/%s/size", h->sys_root, name) &&
	    file_read(path, &size, NULL) == 0)
		r.empty = str_eqz(buf_str(&size), "0\n");
	return r;
}

/* .../block/sda/sda1 is a partition of sda. */
bool disk_host_name_of(const struct disk_host *h, uint32_t major, uint32_t minor,
		       char ret_name[static DISK_NAME_SIZE])
{
	char path[PATH_MAX], real[PATH_MAX], *slash;

	if (!path_print(path, "%s/dev/block/%u:%u", h->sys_root, major, minor) ||
	    !realpath(path, real))
		return false;
	if (path_print(path, "%s/partition", real) && exists(path)) {
		slash = strrchr(real, '/');
		*slash = 0;
	}
	slash = strrchr(real, '/');
	if (!slash || strlen(slash + 1) >= DISK_NAME_SIZE || !slash[1])
		return false;
	(void)snprintf(ret_name, DISK_NAME_SIZE, "%s", slash + 1);
	return true;
}

static void sample_devices(const struct disk_host *h, const struct disk_spec *spec,
			   struct disk_meter *m, struct str text)
{
	struct disk_hardware hardware;
	struct disk_stat s;

	while (disk_stat_next(&text, &s)) {
		hardware = disk_host_hardware(h, s.name);
		if (disk_spec_wants(spec, s.name, &hardware))
			disk_meter_device(m, &s);
	}
}

/* --- pods ------------------------------------------------------------------------------------ */

void disk_host_each_folder(const char *dir, disk_host_folder_fn *fn, void *arg, int depth)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX];
	struct dirent *e;
	size_t n = 0;

	while (d && n < DISK_GROUPS_MAX && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    !path_print(path, "%s/%s", dir, e->d_name))
			continue;
		fn(arg, path, e->d_name, depth);
		n++;
	}
	if (d)
		(void)closedir(d);
}

struct walk {
	const struct disk_host *host;
	struct disk_meter *meter;
	const char *uid;
	struct buf text;
};

struct pods_walk {
	disk_host_pod_fn *fn;
	void *arg;
};

static void count_group(void *arg, const char *path, const char *name, int depth);

static void count_file(struct walk *w, const char *folder)
{
	bool (*next)(struct str *, struct disk_group_stat *) = w->host->groups == DISK_GROUPS_V2
								       ? disk_group_v2_next
								       : disk_group_v1_next;
	struct disk_group_stat s;
	char path[PATH_MAX];
	struct str text;

	buf_clear(&w->text);
	if (!path_print(path, "%s/%s", folder, w->host->groups_file) ||
	    file_read(path, &w->text, NULL) < 0)
		return;
	text = buf_str(&w->text);
	while (next(&text, &s))
		disk_meter_pod(w->meter, w->uid, &s);
}

static void count_group(void *arg, const char *path, const char *name UNUSED, int depth)
{
	struct walk *w = arg;

	count_file(w, path);
	if (w->host->groups_sum && depth < CONTAINER_DEPTH)
		disk_host_each_folder(path, count_group, w, depth + 1);
}

static void count_pod(void *arg, const char *uid, const char *path)
{
	struct walk *w = arg;

	w->uid = uid;
	count_group(w, path, NULL, 0);
}

static void visit_pods(void *arg, const char *path, const char *name, int depth)
{
	struct pods_walk *w = arg;
	char uid[DISK_UID_SIZE];

	if (disk_group_pod(str_from(name), uid))
		w->fn(w->arg, uid, path);
	else if (depth < PODS_DEPTH)
		disk_host_each_folder(path, visit_pods, w, depth + 1);
}

static void search_pods(void *arg, const char *path, const char *name, int depth)
{
	if (disk_group_is_pods(str_from(name)))
		disk_host_each_folder(path, visit_pods, arg, 0);
	else if (depth < SEARCH_DEPTH)
		disk_host_each_folder(path, search_pods, arg, depth + 1);
}

void disk_host_each_pod(const struct disk_host *h, disk_host_pod_fn *fn, void *arg)
{
	struct pods_walk w = { fn, arg };

	if (h->groups != DISK_GROUPS_NONE)
		disk_host_each_folder(h->groups_dir, search_pods, &w, 1);
}

static void sample_pods(const struct disk_host *h, struct disk_meter *m)
{
	struct walk w = { .host = h, .meter = m, .text = BUF_INIT(DISK_GROUP_FILE_MAX) };

	disk_host_each_pod(h, count_pod, &w);
	buf_release(&w.text);
}

int disk_host_sample(const struct disk_host *h, const struct disk_spec *spec, struct disk_meter *m,
		     int64_t now, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DISK_STATS_MAX);
	char path[PATH_MAX];
	int r;

	(void)path_print(path, "%s/diskstats", h->proc_root);
	r = file_read(path, &text, err);
	if (r < 0)
		return r;
	disk_meter_begin(m, now);
	sample_devices(h, spec, m, buf_str(&text));
	sample_pods(h, m);
	disk_meter_end(m);
	return 0;
}
