/*
 * A mount is a job: it first requests the tokens of projected volumes, which may take a request
 * each, and then does all disk work at once. The state is on disk: after a restart, jobs find it
 * there.
 */
#include "node/volumes/volumes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"
#include "node/node_limits.h"
#include "node/sources/sources.h"
#include "node/volumes/dir.h"
#include "node/volumes/volumes_impl.h"

enum { TOKEN_LIFE_S = 3600 };

/* A token that a job waits for; the argument of its callback. */
struct job_token {
	struct job_token *next;
	struct job *job;
	const struct json *source; /* in the pod's tree */
	struct str text;
	struct error *failure; /* or NULL */
};

struct job {
	struct list link;
	struct volumes *volumes;
	struct pod *pod;
	struct job_token *tokens;
	size_t pending;
	struct arena arena;
	struct loop_task task;
	volumes_done *done;
	void *arg;
};

/* --- jobs ----------------------------------------------------------------------------------- */

static void volumes_job_free(struct job *j)
{
	for (struct job_token *t = j->tokens; t; t = t->next) {
		if (j->pending > 0)
			sources_token_cancel(j->volumes->sources, t);
		if (t->text.n > 0)
			explicit_bzero((char *)(uintptr_t)t->text.p, t->text.n);
	}
	list_remove(&j->link);
	loop_task_cancel(&j->task);
	pod_unref(j->pod);
	arena_release(&j->arena);
	free(j);
}

static int job_token(void *arg, const struct json *source, struct str *ret_token, struct error *err)
{
	const struct job *j = arg;

	for (const struct job_token *t = j->tokens; t; t = t->next) {
		if (t->source != source)
			continue;
		*ret_token = t->text;
		return t->failure ? error_copy(err, t->failure) : 0;
	}
	return error_set(err, ERR_INTERNAL, "no token was requested");
}

/* The user of all containers if it is the same; else -1. */
static int64_t user_of(const struct pod *pod)
{
	int64_t all = json_i64_at(json_getz(pod->spec, "securityContext"), "runAsUser", -1);
	struct pod_containers c = pod_containers(pod);
	int64_t found = -1;

	while (pod_containers_next(&c)) {
		int64_t user = json_i64_at(json_getz(c.container, "securityContext"), "runAsUser",
					   all);

		if (user < 0 || (found >= 0 && user != found))
			return -1;
		found = user;
	}
	return found;
}

static int set_up_all(struct job *j, struct error *err)
{
	struct volumes *v = j->volumes;
	struct str pod_ip = json_text_at(j->pod->status, "podIP");
	struct env_context env = { .sources = v->sources,
				   .node_name = str_from(v->node_name),
				   .host_ip = str_from(v->host_ip),
				   .pod_ip = pod_ip,
				   .node_cpu_milli = v->cpu_milli,
				   .node_memory = v->memory };
	struct volume_context c = {
		.pod = j->pod, .env = &env, .fs_user = user_of(j->pod), .token = job_token, .arg = j
	};
	int r;

	if (!volume_is_plain(j->pod->uid))
		return error_set(err, ERR_INVALID, "not a pod's uid: %.*s", STR_ARG(j->pod->uid));
	c.fs_group = json_i64_at(json_getz(j->pod->spec, "securityContext"), "fsGroup", -1);
	r = volume_dir_make(volume_pod_dir(v, j->pod->uid, &j->arena), 0750, err);
	if (r < 0)
		return r;
	JSON_FOREACH (it, json_getz(j->pod->spec, "volumes")) {
		r = volume_set_up(v, &c, it, err);
		if (r < 0)
			return error_wrap(err, r, "MountVolume.SetUp failed for volume \"%.*s\" ",
					  STR_ARG(json_text_at(it, "name")));
	}
	return 0;
}

static void volumes_on_task(struct loop_task *t)
{
	struct job *j = CONTAINER_OF(t, struct job, task);
	volumes_done *done = j->done;
	void *arg = j->arg;
	struct error err;
	int r;

	r = set_up_all(j, &err);
	volumes_job_free(j);
	done(arg, r < 0 ? &err : NULL);
}

static void on_token(void *arg, struct str token, const struct error *err)
{
	struct job_token *t = arg;
	struct job *j = t->job;

	if (err) {
		t->failure = ARENA_NEW(&j->arena, struct error);
		*t->failure = *err;
	}
	t->text = arena_str(&j->arena, token);
	if (--j->pending == 0)
		loop_defer(j->volumes->loop, &j->task);
}

static void ask_for_token(struct job *j, const struct json *source)
{
	struct job_token *t = ARENA_NEW(&j->arena, struct job_token);

	t->job = j;
	t->source = source;
	t->next = j->tokens;
	j->tokens = t;
	j->pending++;
	sources_token(j->volumes->sources, j->pod, json_text_at(source, "audience"),
		      json_i64_at(source, "expirationSeconds", TOKEN_LIFE_S), on_token, t);
}

void volumes_mount(struct volumes *v, struct pod *pod, volumes_done *done, void *arg)
{
	struct job *j = XNEW(struct job);

	j->volumes = v;
	j->pod = pod_ref(pod);
	j->done = done;
	j->arg = arg;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	loop_task_init(&j->task, volumes_on_task);
	list_push_back(&v->jobs, &j->link);
	JSON_FOREACH (volume, json_getz(pod->spec, "volumes")) {
		JSON_FOREACH (it, json_getz(json_getz(volume, "projected"), "sources")) {
			const struct json *source = json_getz(it, "serviceAccountToken");

			if (source)
				ask_for_token(j, source);
		}
	}
	if (j->pending == 0)
		loop_defer(v->loop, &j->task);
}

/* --- removal -------------------------------------------------------------------------------- */

bool volume_is_plain(struct str name)
{
	return name.n > 0 && name.p[0] != '.' && str_chr(name, '/') < 0 && str_chr(name, '\0') < 0;
}

int volumes_unmount(struct volumes *v, struct str pod_uid, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	const char *dir;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!volume_is_plain(pod_uid))
		return error_set(err, ERR_INVALID, "not a pod's uid: %.*s", STR_ARG(pod_uid));
	dir = volume_pod_dir(v, pod_uid, &a);
	if (access(dir, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = volume_dir_unmount_below(dir, err);
	return r < 0 ? r : volume_trash(v, dir, err);
}

size_t volumes_left(const struct volumes *v, struct arena *a, const struct str **ret_uids)
{
	VEC(struct str) found;
	DIR *d = opendir(v->root);
	const struct dirent *e;
	struct str *copy;
	size_t n;

	vec_init(&found, NODE_PODS_MAX);
	while (d && (e = readdir(d))) {
		if (volume_is_plain(str_from(e->d_name)))
			(void)vec_push(&found, arena_str(a, str_from(e->d_name)));
	}
	if (d)
		(void)closedir(d);
	n = found.n;
	copy = ARENA_ARRAY(a, struct str, n + 1);
	if (n > 0)
		memcpy(copy, found.v, n * sizeof(*copy));
	vec_release(&found);
	*ret_uids = copy;
	return n;
}

/* --- life ----------------------------------------------------------------------------------- */

/*
 * Mounts are identified by real paths. If the folder cannot be created now, the first mount fails.
 */
static char *real_pods_dir(const char *root)
{
	size_t n = strlen(root) + sizeof("/pods");
	char *path = xmalloc(n), *real;

	(void)snprintf(path, n, "%s/pods", root);
	(void)volume_dir_make(path, 0750, NULL);
	real = realpath(path, NULL);
	if (!real)
		return path;
	free(path);
	return real;
}

struct volumes *volumes_new(const struct volumes_opts *opts)
{
	struct volumes *v = XNEW(struct volumes);
	const char *etc = opts->etc_dir ? opts->etc_dir : "/etc";
	size_t n = strlen(etc) + sizeof("/hosts");

	v->loop = opts->loop;
	v->sources = opts->sources;
	v->log = opts->log;
	v->root = real_pods_dir(opts->root_dir);
	v->node_name = str_dup(opts->node_name);
	v->host_ip = str_dup(opts->host_ip);
	v->cluster_domain = str_dup(opts->cluster_domain.n > 0 ? opts->cluster_domain
							       : STR("cluster.local"));
	v->hosts_file = xmalloc(n);
	(void)snprintf(v->hosts_file, n, "%s/hosts", etc);
	list_init(&v->jobs);
	volume_trash_begin(v);
	return v;
}

void volumes_free(struct volumes *v)
{
	if (!v)
		return;
	while (!list_empty(&v->jobs))
		volumes_job_free(LIST_ENTRY(v->jobs.next, struct job, link));
	loop_timer_stop(&v->trash);
	free(v->root);
	free(v->node_name);
	free(v->host_ip);
	free(v->cluster_domain);
	free(v->hosts_file);
	free(v);
}

void volumes_set_allocatable(struct volumes *v, int64_t cpu_milli, int64_t memory)
{
	v->cpu_milli = cpu_milli;
	v->memory = memory;
}
