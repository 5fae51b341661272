/*
 * A prepared claim is not prepared again for a second pod: the kubelet only counts. So when a
 * sandbox is created in a namespace with a claim that is prepared for another pod, the pod is read
 * and its claims are compared. If it is rejected, the kubelet retries. When the first pod is gone,
 * the claim's reservedFor shows it, and the device is handed over.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "drivers/nic/driver_impl.h"

enum { GET_TIMEOUT_MS = 10000 }; /* the runtime waits */

struct other {
	struct other *next;
	const char *claim_uid;
};

struct nic_second {
	struct nic_driver *driver;
	struct arena arena;
	const char *ns, *pod_name, *pod_uid;
	struct client_request get;
	const struct json *pod; /* in the arena */
	const char *claim_uid; /* the claim being checked */
	struct other *others; /* objects that only share the name of a claim that the pod uses */
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

static void next_claim(struct nic_second *s);

/* --- what is said ---------------------------------------------------------------------------- */

void nic_second_sentence(char out[static 512], const char *ns, const char *claim, const char *names)
{
	(void)snprintf(out, 512,
		       "claim %s/%s is reserved for several pods (%s): a network device is in the "
		       "namespace of one",
		       ns, claim, names);
}

void nic_second_mark(struct nic_driver *d, const char *claim_uid, const char *sentence)
{
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		struct nic_view *v = nic_view_of(u);

		if (strcmp(u->claim_uid, claim_uid) != 0 || strcmp(v->several, sentence) == 0)
			continue;
		(void)snprintf(v->several, sizeof(v->several), "%s", sentence);
		if (!v->pod && !v->reason)
			nic_prepare_tell(u);
		else
			nic_status_tell(v);
	}
}

/* --- handing over ---------------------------------------------------------------------------- */

struct hand_over {
	struct nic_job job;
	const char *claim_uid, *new_name, *new_uid;
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

static bool is_claims(const struct nic_job *j, const struct nic_use *u)
{
	return strcmp(u->claim_uid, CONTAINER_OF(j, struct hand_over, job)->claim_uid) == 0;
}

static int rewrite(struct hand_over *h, struct error *err)
{
	struct nic_job *j = &h->job;
	const char *old_name = "", *old_uid = "";
	int r;

	for (size_t i = 0; i < j->nuses; i++) {
		old_name = j->uses[i]->pod_name;
		old_uid = j->uses[i]->pod_uid;
		j->uses[i]->pod_name = nic_use_text(j->uses[i], str_from(h->new_name));
		j->uses[i]->pod_uid = nic_use_text(j->uses[i], str_from(h->new_uid));
	}
	r = nic_book_save(j->driver->book, err);
	for (size_t i = 0; r < 0 && i < j->nuses; i++) {
		j->uses[i]->pod_name = old_name;
		j->uses[i]->pod_uid = old_uid;
	}
	return r;
}

static void hand_over_done(struct nic_job *j, const struct error *result)
{
	const struct hand_over *h = CONTAINER_OF(j, struct hand_over, job);
	void (*done)(void *arg, const struct error *err) = h->done;
	struct error err = *result;
	void *arg = h->arg;

	nic_job_end(j);
	done(arg, err.code == ERR_OK ? NULL : &err);
}

static void hand_over_end(struct nic_job *j)
{
	struct hand_over *h = CONTAINER_OF(j, struct hand_over, job);
	struct error err = j->failure;

	if (err.code == ERR_OK && rewrite(h, &err) == 0) {
		for (size_t i = 0; i < j->nuses; i++) {
			nic_view_of(j->uses[i])->several[0] = 0;
			nic_prepare_tell(j->uses[i]);
		}
	}
	hand_over_done(j, &err);
}

/* The new pod may have got the claim meanwhile, and waits for this job. */
static void hand_over_run(struct nic_job *j)
{
	const struct hand_over *h = CONTAINER_OF(j, struct hand_over, job);
	const struct nic_use *first;

	nic_job_pick(j, is_claims);
	first = j->nuses > 0 ? j->uses[0] : NULL;
	if (!first || strcmp(first->pod_uid, h->new_uid) == 0)
		hand_over_done(j, &j->failure);
	else if (strcmp(first->pod_uid, j->pod_uid) != 0)
		nic_job_move(j, first->pod_uid);
	else
		nic_job_detach(j, "the claim is reserved for another pod now", hand_over_end);
}

void nic_second_hand_over(struct nic_use *u, const char *pod_name, const char *pod_uid, bool owed,
			  void (*done)(void *arg, const struct error *err), void *arg)
{
	struct nic_driver *d = nic_view_of(u)->driver;
	struct hand_over *h = nic_job_new(d, sizeof(*h), u->pod_uid, hand_over_run);

	h->claim_uid = arena_strdup(&h->job.arena, str_from(u->claim_uid));
	h->new_name = arena_strdup(&h->job.arena, str_from(pod_name));
	h->new_uid = arena_strdup(&h->job.arena, str_from(pod_uid));
	h->done = done;
	h->arg = arg;
	h->job.owed = owed;
	nic_job_queue(&h->job);
}

/* --- the claim ------------------------------------------------------------------------------- */

static void second_finish(struct nic_second *s, const struct error *err)
{
	void (*done)(void *arg, const struct error *err) = s->done;

	done(s->arg, err);
}

/* The names of all pods that the claim is reserved for, and of the pod that asks. */
static const char *names_of(struct nic_second *s, const struct json *consumers)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);
	bool asker = false;

	JSON_FOREACH (it, consumers) {
		struct str name = json_text_at(it, "name");

		asker |= str_eqz(json_text_at(it, "uid"), s->pod_uid);
		(void)buf_printf(&names, "%s%.*s", names.n > 0 ? ", " : "", STR_ARG(name));
	}
	if (!asker)
		(void)buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", s->pod_name);
	return arena_strdup(&s->arena, buf_str(&names));
}

static void on_handed_over(void *arg, const struct error *err)
{
	struct nic_second *s = arg;

	if (err)
		second_finish(s, err);
	else
		next_claim(s);
}

/* The prepared claim is gone; a new one of that name is not our concern. */
static void pass_over(struct nic_second *s)
{
	struct other *o = ARENA_NEW(&s->arena, struct other);

	*o = (struct other){ .next = s->others, .claim_uid = s->claim_uid };
	s->others = o;
	next_claim(s);
}

static bool is_passed_over(const struct nic_second *s, const char *claim_uid)
{
	for (const struct other *o = s->others; o; o = o->next)
		if (strcmp(o->claim_uid, claim_uid) == 0)
			return true;
	return false;
}

static void judge_claim(struct nic_second *s, const struct json *claim)
{
	const struct json *consumers = json_pointer(claim, STR("/status/reservedFor"));
	struct nic_use *u = nic_prepare_first(s->driver, s->claim_uid);
	char sentence[512];
	struct error err;

	if (!u || !str_eqz(json_text_at(json_getz(claim, "metadata"), "uid"), s->claim_uid)) {
		pass_over(s);
		return;
	}
	if (json_count(consumers) == 1 &&
	    str_eqz(json_text_at(json_first(consumers), "uid"), s->pod_uid)) {
		nic_second_hand_over(u, s->pod_name, s->pod_uid, false, on_handed_over, s);
		return;
	}
	nic_second_sentence(sentence, u->claim_ns, u->claim_name, names_of(s, consumers));
	nic_second_mark(s->driver, u->claim_uid, sentence);
	(void)error_set(&err, ERR_CONFLICT, "%s", sentence);
	second_finish(s, &err);
}

static void second_on_claim(struct client_request *q, const struct client_answer *answer,
			    const struct error *failure)
{
	struct nic_second *s = q->arg;
	struct json *tree = NULL;
	struct error err;

	if (failure && failure->code == ERR_NOT_FOUND) {
		pass_over(s);
	} else if (failure) {
		err = *failure;
		(void)error_wrap(&err, -(int)err.code, "get the claim that pod %s/%s names", s->ns,
				 s->pod_name);
		second_finish(s, &err);
	} else if (client_answer_tree(answer, &s->arena, &tree, &err) < 0) {
		second_finish(s, &err);
	} else {
		judge_claim(s, tree);
	}
}

/* --- the pod --------------------------------------------------------------------------------- */

static bool lists(const struct json *list, const char *claim)
{
	return json_find(list, "resourceClaimName", str_from(claim)) != NULL;
}

static bool pod_names(const struct json *pod, const char *claim)
{
	const struct json *status = json_getz(pod, "status");
	const struct json *extended = json_getz(status, "extendedResourceClaimStatus");

	return lists(json_pointer(pod, STR("/spec/resourceClaims")), claim) ||
	       lists(json_getz(status, "resourceClaimStatuses"), claim) ||
	       str_eqz(json_text_at(extended, "resourceClaimName"), claim);
}

static const struct nic_use *wanted(const struct nic_second *s)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(s->driver->book, u));)
		if (strcmp(u->claim_ns, s->ns) == 0 && strcmp(u->pod_uid, s->pod_uid) != 0 &&
		    pod_names(s->pod, u->claim_name) && !is_passed_over(s, u->claim_uid))
			return u;
	return NULL;
}

static void next_claim(struct nic_second *s)
{
	const struct nic_use *u = wanted(s);

	if (!u) {
		second_finish(s, NULL);
		return;
	}
	s->claim_uid = arena_strdup(&s->arena, str_from(u->claim_uid));
	s->get = (struct client_request){ .on_done = second_on_claim,
					  .arg = s,
					  .timeout_ms = GET_TIMEOUT_MS };
	client_get(s->driver->driver->client, &s->get, &s->driver->claims, str_from(s->ns),
		   str_from(u->claim_name));
}

static void second_on_pod(struct client_request *q, const struct client_answer *answer,
			  const struct error *failure)
{
	struct nic_second *s = q->arg;
	struct json *tree = NULL;
	struct error err;

	if (failure && failure->code == ERR_NOT_FOUND) {
		second_finish(s, NULL);
		return;
	}
	if (failure) {
		err = *failure;
		(void)error_wrap(&err, -(int)err.code, "get pod %s/%s", s->ns, s->pod_name);
		second_finish(s, &err);
		return;
	}
	if (client_answer_tree(answer, &s->arena, &tree, &err) < 0) {
		second_finish(s, &err);
		return;
	}
	s->pod = tree;
	/* A different pod of this name, or the mirror of a static pod, which has no claims. */
	if (!str_eqz(json_text_at(json_getz(tree, "metadata"), "uid"), s->pod_uid))
		second_finish(s, NULL);
	else
		next_claim(s);
}

bool nic_second_possible(const struct nic_driver *d, const char *ns, const char *pod_uid)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		if (strcmp(u->claim_ns, ns) == 0 && strcmp(u->pod_uid, pod_uid) != 0)
			return true;
	return false;
}

struct nic_second *nic_second_new(struct nic_driver *d, const char *ns, const char *pod_name,
				  const char *pod_uid,
				  void (*done)(void *arg, const struct error *err), void *arg)
{
	struct nic_second *s = XNEW(struct nic_second);

	s->driver = d;
	arena_init(&s->arena, OBJECT_MAX * 32);
	s->ns = arena_strdup(&s->arena, str_from(ns));
	s->pod_name = arena_strdup(&s->arena, str_from(pod_name));
	s->pod_uid = arena_strdup(&s->arena, str_from(pod_uid));
	s->done = done;
	s->arg = arg;
	s->get = (struct client_request){ .on_done = second_on_pod,
					  .arg = s,
					  .timeout_ms = GET_TIMEOUT_MS };
	client_get(d->driver->client, &s->get, &d->pods, str_from(ns), str_from(pod_name));
	return s;
}

void nic_second_free(struct nic_second *s)
{
	if (!s)
		return;
	client_cancel(&s->get);
	arena_release(&s->arena);
	free(s);
}

/* --- is it one's alone again? ---------------------------------------------------------------- */

static bool is_ones(const struct client_answer *answer, const char *claim_uid)
{
	struct json *tree = NULL;
	struct arena a;
	bool yes = false;

	arena_init(&a, OBJECT_MAX * 16);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0)
		yes = !str_eqz(json_text_at(json_getz(tree, "metadata"), "uid"), claim_uid) ||
		      json_count(json_pointer(tree, STR("/status/reservedFor"))) <= 1;
	arena_release(&a);
	return yes;
}

static void second_on_again(struct client_request *q, const struct client_answer *answer,
			    const struct error *failure)
{
	struct nic_view *v = q->arg;
	bool ones = failure ? failure->code == ERR_NOT_FOUND : is_ones(answer, v->use->claim_uid);

	if (ones)
		nic_second_mark(v->driver, v->use->claim_uid, "");
}

void nic_second_look(struct nic_driver *d)
{
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		struct nic_view *v = nic_view_of(u);

		if (!v->several[0] || client_busy(&v->get) ||
		    nic_prepare_first(d, u->claim_uid) != u)
			continue;
		v->get = (struct client_request){ .on_done = second_on_again,
						  .arg = v,
						  .timeout_ms = GET_TIMEOUT_MS };
		client_get(d->driver->client, &v->get, &d->claims, str_from(u->claim_ns),
			   str_from(u->claim_name));
	}
}
