/*
 * Each write of a revision is based on the cache. A revision that the cache does not show yet is
 * found by its name, which the template decides.
 */
#include "controller/daemon_set/daemon_sets_impl.h"

/* The limit is the server's default; huge ones and nonsense are harmless. */
enum { HISTORY_LIMIT = 10 };

static struct daemon_job *job_of(struct client_request *r)
{
	return r->arg;
}

static struct str label_of_tree(const struct json *revision)
{
	return json_str(
		json_get(json_getz(json_getz(revision, "metadata"), "labels"), DAEMON_HASH_LABEL));
}

/* --- a collision of names -------------------------------------------------------------------- */

static void on_collision_noted(struct client_request *r, const struct client_answer *a UNUSED,
			       const struct error *err)
{
	struct daemon_job *j = job_of(r);

	if (err)
		daemon_job_fail(j, err, "cannot write the collision count");
	else
		work_end(&j->work, true);
}

/* Counts only on the newest state, so that one collision is counted once. */
static void on_set_read(struct client_request *r, const struct client_answer *answer,
			const struct error *err)
{
	struct daemon_job *j = job_of(r);
	const struct json *mine = json_getz(j->set, "status");
	struct json *set, *status;
	struct error bad;
	int64_t count;

	if (!err && client_answer_tree(answer, &j->work.arena, &set, &bad) < 0)
		err = &bad;
	if (err) {
		daemon_job_fail(j, err, "cannot read the daemon set");
		return;
	}
	status = json_need_object(&j->work.arena, set, "status");
	count = json_i64_at(status, "collisionCount", 0);
	if (count != json_i64_at(mine, "collisionCount", 0) || count == INT32_MAX) {
		work_end(&j->work, true);
		return;
	}
	json_put_i64(&j->work.arena, status, "collisionCount", count + 1);
	r->on_done = on_collision_noted;
	client_update_status(j->d->ctx.client, r, &j->d->sets.resource, j->owner.ns, j->owner.name,
			     set);
}

static void on_found_by_name(struct client_request *r, const struct client_answer *answer,
			     const struct error *err)
{
	struct daemon_job *j = job_of(r);
	struct json *found;
	struct error bad;

	if (!err && client_answer_tree(answer, &j->work.arena, &found, &bad) < 0)
		err = &bad;
	if (err) {
		daemon_job_fail(j, err, "cannot read the revision");
	} else if (daemon_history_matches(&j->work.arena, j->set, found) &&
		   label_of_tree(found).n > 0) {
		j->revision = label_of_tree(found);
		daemon_job_act(j);
	} else {
		r->on_done = on_set_read;
		client_get(j->d->ctx.client, r, &j->d->sets.resource, j->owner.ns, j->owner.name);
	}
}

/* --- the current revision -------------------------------------------------------------------- */

static void on_revision_created(struct client_request *r, const struct client_answer *answer,
				const struct error *err)
{
	struct daemon_job *j = job_of(r);
	struct json *made;
	struct str name;

	if (!err && client_answer_tree(answer, &j->work.arena, &made, NULL) == 0) {
		j->revision = label_of_tree(made);
		daemon_job_act(j);
	} else if (err && err->code == ERR_ALREADY_EXISTS) {
		name = j->revision;
		j->revision = STR_NULL;
		r->on_done = on_found_by_name;
		client_get(j->d->ctx.client, r, &j->d->revisions.resource, j->owner.ns, name);
	} else if (err && client_answer_has_cause(answer, STR("NamespaceTerminating"))) {
		work_end(&j->work, false);
	} else if (err) {
		daemon_job_fail(j, err, "cannot create the revision");
	} else {
		work_end(&j->work, true);
	}
}

/* Until the reply, j->revision is the name. */
static void create_revision(struct daemon_job *j)
{
	struct json *made = daemon_history_snapshot(&j->work.arena, j->set, &j->owner,
						    j->history.number);

	j->revision = json_text_at(json_getz(made, "metadata"), "name");
	j->work.request.on_done = on_revision_created;
	client_create(j->d->ctx.client, &j->work.request, &j->d->revisions.resource, j->owner.ns,
		      made);
}

static void on_revision_numbered(struct client_request *r, const struct client_answer *a UNUSED,
				 const struct error *err)
{
	struct daemon_job *j = job_of(r);

	if (err)
		daemon_job_fail(j, err, "cannot number the revision");
	else
		daemon_job_act(j);
}

static void update_revision(struct daemon_job *j, const struct json *tree,
			    void (*done)(struct client_request *r, const struct client_answer *a,
					 const struct error *err))
{
	j->work.request.on_done = done;
	client_update(j->d->ctx.client, &j->work.request, &j->d->revisions.resource, j->owner.ns,
		      json_text_at(json_getz(tree, "metadata"), "name"), tree);
}

static void use_current(struct daemon_job *j)
{
	const struct daemon_revision *current = j->history.current;

	j->revision = current->hash;
	if (current->number >= j->history.number)
		daemon_job_act(j);
	else
		update_revision(
			j,
			daemon_history_renumber(&j->work.arena, current->tree, j->history.number),
			on_revision_numbered);
}

/* --- revisions without a label --------------------------------------------------------------- */

/* The event of the change brings the next sync. */
static void on_revision_labelled(struct client_request *r, const struct client_answer *a UNUSED,
				 const struct error *err)
{
	struct daemon_job *j = job_of(r);

	if (err)
		daemon_job_fail(j, err, "cannot label the revision");
	else
		work_end(&j->work, false);
}

static const struct daemon_revision *without_label(const struct daemon_history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i].hash.n == 0)
			return &h->v[i];
	}
	return NULL;
}

/* --- several revisions of one template ------------------------------------------------------- */

static bool is_duplicate(const struct daemon_history *h, const struct daemon_revision *r)
{
	return r->current && r != h->current;
}

static size_t count_duplicates(const struct daemon_history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += is_duplicate(h, &h->v[i]);
	return n;
}

/* The next sync sees the rest. */
static void duplicates_end(struct daemon_job *j)
{
	work_end(&j->work, j->first.code != ERR_OK);
}

static void delete_duplicates(struct daemon_job *j)
{
	const struct daemon_history *h = &j->history;

	j->excess = ARENA_ARRAY(&j->work.arena, const struct daemon_revision *, h->n);
	j->nexcess = j->excess_at = 0;
	for (size_t i = 0; i < h->n; i++) {
		if (is_duplicate(h, &h->v[i]))
			j->excess[j->nexcess++] = &h->v[i];
	}
	j->next = duplicates_end;
}

static bool has_duplicate_label(const struct daemon_history *h, struct str revision)
{
	for (size_t i = 0; i < h->n; i++) {
		if (is_duplicate(h, &h->v[i]) && str_eq(h->v[i].hash, revision))
			return !str_eq(revision, h->current->hash);
	}
	return false;
}

static struct batch_item *relabel(struct daemon_job *j, const struct daemon_pod *pod)
{
	struct arena *a = &j->work.arena;
	struct batch_item *it = ARENA_NEW(a, struct batch_item);
	struct json *meta;

	it->verb = BATCH_PATCH;
	it->name = arena_str(a, pod->name);
	it->body = json_make_object(a);
	meta = json_need_object(a, it->body, "metadata");
	json_put_str(a, meta, "uid", arena_str(a, pod->uid));
	json_set(json_need_object(a, meta, "labels"), DAEMON_HASH_LABEL,
		 json_make_str(a, j->history.current->hash));
	return it;
}

static struct batch_item *relabel_all(struct daemon_job *j)
{
	struct batch_item *first = NULL, **last = &first;
	struct daemon_place *places;
	size_t n = daemon_book_places(&j->d->book, &j->work.arena, j->owner.uid, &j->rules,
				      &places);

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < places[i].n; k++) {
			if (!has_duplicate_label(&j->history, places[i].pods[k]->revision))
				continue;
			*last = relabel(j, places[i].pods[k]);
			last = &(*last)->next;
		}
	}
	return first;
}

static void delete_next_excess(struct daemon_job *j);

static void on_relabelled(struct batch *b, const struct error *err)
{
	struct daemon_job *j = b->arg;

	if (err && err->code != ERR_NOT_FOUND) {
		daemon_job_fail(j, err, "cannot label pods");
		return;
	}
	delete_duplicates(j);
	delete_next_excess(j);
}

/* First the pods get the label of the revision that stays, so that none seems to be old. */
static void merge_duplicates(struct daemon_job *j)
{
	j->batch = (struct batch){ .ctx = &j->d->ctx,
				   .resource = &j->d->pods.resource,
				   .ns = j->owner.ns,
				   .silent = true,
				   .arena = &j->work.arena,
				   .items = relabel_all(j),
				   .done = on_relabelled,
				   .arg = j };
	batch_start(&j->batch);
}

/* --- finding --------------------------------------------------------------------------------- */

static void history_look(struct daemon_job *j)
{
	const struct daemon_revision *bare = without_label(&j->history);

	if (bare)
		update_revision(j, daemon_history_label(&j->work.arena, bare->tree),
				on_revision_labelled);
	else if (!j->history.current)
		create_revision(j);
	else if (count_duplicates(&j->history) > 0)
		merge_duplicates(j);
	else
		use_current(j);
}

static void on_revisions_claimed(struct owned_claim *c, const struct error *err)
{
	struct daemon_job *j = c->arg;
	struct json **trees = ARENA_ARRAY(&j->work.arena, struct json *, c->owned.n);
	size_t n = 0;

	if (err) {
		daemon_job_fail(j, err, "cannot claim revisions");
		return;
	}
	for (size_t i = 0; i < c->owned.n; i++) {
		if (!c->owned.v[i]->deleting &&
		    cached_tree_held(c->owned.v[i], &j->work.arena, &trees[n], NULL) == 0)
			n++;
	}
	daemon_history_read(&j->work.arena, j->set, trees, n, &j->history);
	history_look(j);
}

void daemon_job_history(struct daemon_job *j)
{
	j->claim = (struct owned_claim){ .ctx = &j->d->ctx,
					 .owner = &j->owner,
					 .cache = informer_cache(j->d->revisions.informer),
					 .resource = &j->d->revisions.resource,
					 .arena = &j->work.arena,
					 .done = on_revisions_claimed,
					 .arg = j };
	owned_claim(&j->claim);
}

/* --- the limit ------------------------------------------------------------------------------- */

static bool is_used(void *arg, struct str hash)
{
	const struct daemon_job *j = arg;

	return daemon_book_uses(&j->d->book, j->owner.uid, hash);
}

static void on_excess_deleted(struct client_request *r, const struct client_answer *a UNUSED,
			      const struct error *err)
{
	struct daemon_job *j = job_of(r);

	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_CONFLICT &&
	    j->first.code == ERR_OK)
		(void)error_copy(&j->first, err);
	delete_next_excess(j);
}

static void delete_next_excess(struct daemon_job *j)
{
	const struct daemon_revision *r;

	if (j->excess_at == j->nexcess || j->first.code != ERR_OK) {
		j->next(j);
		return;
	}
	r = j->excess[j->excess_at++];
	j->work.request.on_done = on_excess_deleted;
	client_delete(j->d->ctx.client, &j->work.request, &j->d->revisions.resource, j->owner.ns,
		      r->name, &(struct client_delete_opts){ .uid = r->uid });
}

void daemon_job_cleanup(struct daemon_job *j)
{
	int64_t limit = json_i64_at(json_getz(j->set, "spec"), "revisionHistoryLimit",
				    HISTORY_LIMIT);

	j->excess_at = 0;
	j->nexcess = daemon_history_excess(&j->work.arena, &j->history, limit, is_used, j,
					   &j->excess);
	delete_next_excess(j);
}
