/*
 * The kubelet prepares claims before it creates the sandbox, so nothing is moved here: the
 * parameters are checked, and the device is reserved in the book for the one pod that the claim is
 * reserved for. Every rejection is both the reply to the kubelet and the entry in the claim's
 * status, with the same message.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "drivers/drivers_limits.h"
#include "drivers/nic/driver_impl.h"

enum { GET_TIMEOUT_MS = 10000 }; /* well below the 45 s of the kubelet's call */

static struct dp_claim_id prepare_id_of(const struct dp_claim *c)
{
	return (struct dp_claim_id){ .size = sizeof(struct dp_claim_id),
				     .ns = dp_claim_namespace(c),
				     .name = dp_claim_name(c),
				     .uid = dp_claim_uid(c) };
}

struct nic_use *nic_prepare_first(const struct nic_driver *d, const char *claim_uid)
{
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		if (strcmp(u->claim_uid, claim_uid) == 0)
			return u;
	return NULL;
}

void nic_prepare_tell(struct nic_use *u)
{
	char message[512];

	(void)snprintf(message, sizeof(message), "waits for the network namespace of pod %s/%s",
		       u->claim_ns, u->pod_name);
	nic_status_set(nic_view_of(u), "Prepared", message);
}

/* Removes the claim's uses from the book, without saving. */
static void prepare_forget(struct nic_driver *d, const char *claim_uid)
{
	for (struct nic_use *u; (u = nic_prepare_first(d, claim_uid));) {
		nic_view_free(u);
		nic_book_remove(d->book, u);
	}
}

/* --- who it is for --------------------------------------------------------------------------- */

static int refuse_all(struct nic_driver *d, struct dp_claim *c, const char *reason,
		      const char *message)
{
	const struct dp_result *r;

	for (size_t i = 0; (r = dp_claim_result(c, i)); i++)
		nic_status_refuse(d, c, r, reason, message);
	return dp_claim_fail(c, message);
}

static int refuse_several(struct nic_driver *d, struct dp_claim *c)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);
	const struct dp_consumer *k;
	char sentence[512];

	for (size_t i = 0; (k = dp_claim_consumer(c, i)); i++)
		(void)buf_printf(&names, "%s%s", i > 0 ? ", " : "", k->name);
	nic_second_sentence(sentence, dp_claim_namespace(c), dp_claim_name(c),
			    names.n > 0 ? names.p : "");
	if (!nic_prepare_first(d, dp_claim_uid(c)))
		return refuse_all(d, c, "ReservedForSeveralPods", sentence);
	nic_second_mark(d, dp_claim_uid(c), sentence);
	return dp_claim_fail(c, sentence);
}

/* The claim's only pod; NULL if it was rejected. */
static const struct dp_consumer *sole_pod(struct nic_driver *d, struct dp_claim *c)
{
	const struct dp_consumer *k = dp_claim_consumer(c, 0);

	if (dp_claim_consumer_count(c) > 1)
		(void)refuse_several(d, c);
	else if (!k)
		(void)refuse_all(d, c, "Refused", "the claim is reserved for no pod");
	else if (k->api_group[0] || strcmp(k->resource, "pods") != 0)
		(void)refuse_all(d, c, "Refused", "the claim is reserved for what is no pod");
	else
		return k;
	return NULL;
}

/* --- a new use ------------------------------------------------------------------------------- */

/* Lists the interfaces again, so `n` is invalid afterwards. */
static int check_host(struct nic_driver *d, const struct nic *n, struct error *err)
{
	char interface[RTNL_NAME];

	memcpy(interface, n->interface, sizeof(interface));
	return nic_host_check(d, interface, err);
}

/* Returns 0 and *ret_nic if the device can be used. */
static int check_device(struct nic_driver *d, const struct dp_result *r, const struct nic **ret_nic,
			struct error *err)
{
	const struct nic *n = nic_inventory_find(d->inventory, r->device);
	const struct nic_use *u = nic_book_by_device(d->book, str_from(r->pool),
						     str_from(r->device));
	int failed;

	if (r->admin)
		return error_set(err, ERR_FORBIDDEN,
				 "adminAccess to %s cannot be: a network device is in the "
				 "namespace of one pod",
				 r->device);
	if (u)
		return error_set(err, ERR_CONFLICT, "%s is still in use by claim %s/%s of pod %s",
				 r->device, u->claim_ns, u->claim_name, u->pod_name);
	if (n && n->present && n->kind == NIC_HOST) {
		failed = check_host(d, n, err);
		if (failed < 0)
			return failed;
		n = nic_inventory_find(d->inventory, r->device);
	}
	if (!n || !n->present)
		return error_set(err, ERR_NOT_FOUND, "%s is not on this node%s%s", r->device,
				 n && n->message ? ": " : "", n && n->message ? n->message : "");
	*ret_nic = n;
	return 0;
}

static int prepare_check_name(const struct nic_driver *d, const struct nic_use *new,
			      struct error *err)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		if (u == new || strcmp(u->pod_uid, new->pod_uid) != 0 ||
		    !new->config.interface_name[0] ||
		    strcmp(u->config.interface_name, new->config.interface_name) != 0)
			continue;
		return error_set(err, ERR_CONFLICT,
				 "interfaceName %s is wanted for %s and for %s of claim %s",
				 new->config.interface_name, new->nic.device, u->nic.device,
				 u->claim_name);
	}
	return 0;
}

static void prepare_fill(struct nic_use *u, const struct dp_claim *c, const struct dp_result *r,
			 const struct dp_consumer *pod, const struct nic *n)
{
	u->claim_ns = nic_use_text(u, str_from(dp_claim_namespace(c)));
	u->claim_name = nic_use_text(u, str_from(dp_claim_name(c)));
	u->claim_uid = nic_use_text(u, str_from(dp_claim_uid(c)));
	u->pod_name = nic_use_text(u, str_from(pod->name));
	u->pod_uid = nic_use_text(u, str_from(pod->uid));
	u->pool = nic_use_text(u, str_from(r->pool));
	u->share_id = r->share_id ? nic_use_text(u, str_from(r->share_id)) : NULL;
	u->nic = *n;
	u->nic.message = NULL;
}

/* Adds the use of one result. On failure sets *ret_reason. */
static int prepare_add(struct nic_driver *d, const struct dp_claim *c, const struct dp_result *r,
		       const struct dp_consumer *pod, const char **ret_reason, struct error *err)
{
	const struct nic *n = NULL;
	struct nic_use *u;
	int result = check_device(d, r, &n, err);

	*ret_reason = "Refused";
	if (result < 0)
		return result;
	u = nic_book_add(d->book);
	if (!u)
		return error_set(err, ERR_TOO_LARGE, "too many devices are in use");
	prepare_fill(u, c, r, pod, n);
	nic_view_new(d, u);
	*ret_reason = "InvalidConfig";
	result = nic_config_read(&u->arena, r, d->opts.claim_cni, &u->config, err);
	return result < 0 ? result : prepare_check_name(d, u, err);
}

static int prepare_add_all(struct nic_driver *d, struct dp_claim *c, const struct dp_consumer *pod)
{
	const struct dp_result *r;
	const char *reason;
	struct error err;

	for (size_t i = 0; (r = dp_claim_result(c, i)); i++) {
		if (prepare_add(d, c, r, pod, &reason, &err) == 0)
			continue;
		prepare_forget(d, dp_claim_uid(c));
		nic_status_refuse(d, c, r, reason, err.msg);
		return dp_claim_fail(c, err.msg);
	}
	if (nic_book_save(d->book, &err) < 0) {
		prepare_forget(d, dp_claim_uid(c));
		return dp_claim_fail(c, err.msg);
	}
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		if (strcmp(u->claim_uid, dp_claim_uid(c)) == 0)
			nic_prepare_tell(u);
	log_info(d->opts.log, "claim prepared", LOG_Z("namespace", dp_claim_namespace(c)),
		 LOG_Z("claim", dp_claim_name(c)), LOG_Z("pod", pod->name),
		 LOG_UINT("devices", dp_claim_count(c)));
	return 0;
}

/* --- again ----------------------------------------------------------------------------------- */

/* A use keeps the configuration that was allowed when it was prepared. */
static bool same_config(const struct nic_use *u, const struct dp_result *r)
{
	struct nic_config config;
	struct arena a;
	bool same;

	arena_init(&a, DRIVER_CLAIM_MAX);
	same = nic_config_read(&a, r, "*", &config, NULL) == 0 &&
	       json_equal(nic_config_tree(&u->config, &a), nic_config_tree(&config, &a));
	arena_release(&a);
	return same;
}

/* Whether the book matches the claim. */
static bool prepare_is_same(const struct nic_driver *d, const struct dp_claim *c)
{
	const struct dp_result *r;
	size_t n = 0, results = 0;

	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		n += strcmp(u->claim_uid, dp_claim_uid(c)) == 0;
	for (; (r = dp_claim_result(c, results)); results++) {
		const struct nic_use *u = nic_book_by_device(d->book, str_from(r->pool),
							     str_from(r->device));

		if (!u || strcmp(u->claim_uid, dp_claim_uid(c)) != 0 || !same_config(u, r))
			return false;
	}
	return n == results;
}

static bool is_free(const struct nic_driver *d, const char *claim_uid)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		if (strcmp(u->claim_uid, claim_uid) == 0 && u->state != NIC_PREPARED)
			return false;
	return true;
}

static void on_handed_over(void *arg, const struct error *err)
{
	struct dp_claim *c = arg;

	dp_claim_done(c, err ? dp_claim_fail(c, err->msg) : 0);
}

static int prepare_again(struct nic_driver *d, struct dp_claim *c, const struct dp_consumer *pod,
			 struct nic_use *first)
{
	if (!prepare_is_same(d, c)) {
		if (!is_free(d, dp_claim_uid(c)))
			return dp_claim_fail(c, "the claim's interfaces are in a pod, and it has "
						"another allocation by now");
		/* A job may be about to move them into the pod. */
		if (nic_job_is_busy(d, first->pod_uid))
			return dp_claim_fail(c, "the claim has another allocation by now, and its "
						"pod's sandbox is being made: try again");
		prepare_forget(d, dp_claim_uid(c));
		return prepare_add_all(d, c, pod);
	}
	if (strcmp(first->pod_uid, pod->uid) != 0) {
		nic_second_hand_over(first, pod->name, pod->uid, true, on_handed_over, c);
		return DP_LATER;
	}
	nic_second_mark(d, dp_claim_uid(c), "");
	return 0;
}

static int prepare_go_on(struct nic_driver *d, struct dp_claim *c, const struct dp_consumer *pod)
{
	struct nic_use *first = nic_prepare_first(d, dp_claim_uid(c));

	return first ? prepare_again(d, c, pod, first) : prepare_add_all(d, c, pod);
}

/* --- what the pod is ------------------------------------------------------------------------- */

/* A job of the pod, so its sandbox and the end of the claim wait for it. */
struct ask_pod {
	struct nic_job job;
	struct dp_claim *claim;
	struct client_request get;
};

/* -ERR_FORBIDDEN: the claim's pod uses the node's own network namespace. */
static int check_pod(const struct client_answer *answer, const struct dp_claim *c,
		     const struct dp_consumer *pod, struct error *err)
{
	struct json *tree = NULL;
	struct arena a;
	int r;

	arena_init(&a, OBJECT_MAX * 32);
	r = client_answer_tree(answer, &a, &tree, err);
	if (r == 0 && str_eqz(json_text_at(json_getz(tree, "metadata"), "uid"), pod->uid) &&
	    json_true_at(json_getz(tree, "spec"), "hostNetwork"))
		r = error_set(err, ERR_FORBIDDEN,
			      "pod %s/%s uses the node's network (hostNetwork): it has no "
			      "namespace for an interface",
			      dp_claim_namespace(c), pod->name);
	arena_release(&a);
	return r;
}

/* The consumers of the claim were already checked, and are unchanged. */
static int judge_pod(struct nic_driver *d, struct dp_claim *c, const struct client_answer *answer,
		     const struct error *failure)
{
	const struct dp_consumer *pod = dp_claim_consumer(c, 0);
	struct error err;
	int r;

	if (failure) {
		err = *failure;
		r = -ERR_UNAVAILABLE;
	} else {
		r = check_pod(answer, c, pod, &err);
	}
	if (r == -ERR_FORBIDDEN)
		return nic_prepare_first(d, dp_claim_uid(c)) ? dp_claim_fail(c, err.msg)
							     : refuse_all(d, c, "Refused", err.msg);
	if (r < 0)
		log_warn(d->opts.log,
			 "unknown pod: assuming that it does not use the host's network",
			 LOG_Z("namespace", dp_claim_namespace(c)), LOG_Z("pod", pod->name),
			 LOG_ERR(&err));
	return prepare_go_on(d, c, pod);
}

static void prepare_on_pod(struct client_request *q, const struct client_answer *answer,
			   const struct error *failure)
{
	struct ask_pod *ask = q->arg;
	struct nic_driver *d = ask->job.driver;
	struct dp_claim *c = ask->claim;
	int r;

	nic_job_end(&ask->job);
	r = judge_pod(d, c, answer, failure);
	if (r != DP_LATER)
		dp_claim_done(c, r);
}

static void ask_pod_run(struct nic_job *j)
{
	struct ask_pod *ask = CONTAINER_OF(j, struct ask_pod, job);
	const struct dp_claim *c = ask->claim;

	ask->get = (struct client_request){ .on_done = prepare_on_pod,
					    .arg = ask,
					    .timeout_ms = GET_TIMEOUT_MS };
	client_get(j->driver->driver->client, &ask->get, &j->driver->pods,
		   str_from(dp_claim_namespace(c)), str_from(dp_claim_consumer(c, 0)->name));
}

int nic_prepare(void *arg, struct dp_claim *c)
{
	struct nic_driver *d = arg;
	const struct nic_use *first = nic_prepare_first(d, dp_claim_uid(c));
	const struct dp_consumer *pod = sole_pod(d, c);
	struct ask_pod *ask;

	if (!pod)
		return -1;
	if (first && strcmp(first->pod_uid, pod->uid) == 0)
		return prepare_go_on(d, c, pod);
	ask = nic_job_new(d, sizeof(*ask), pod->uid, ask_pod_run);
	ask->claim = c;
	ask->job.owed = true;
	nic_job_queue(&ask->job);
	return DP_LATER;
}

/* --- the opposite ---------------------------------------------------------------------------- */

struct unprepare {
	struct nic_job job;
	struct dp_claim *claim;
};

static bool is_claims(const struct nic_job *j, const struct nic_use *u)
{
	const struct dp_claim *c = CONTAINER_OF(j, struct unprepare, job)->claim;

	return strcmp(u->claim_uid, dp_claim_uid(c)) == 0;
}

static int prepare_release(struct nic_driver *d, struct dp_claim *c)
{
	struct dp_claim_id id = prepare_id_of(c);
	struct error err;

	prepare_forget(d, id.uid);
	if (nic_book_save(d->book, &err) < 0)
		return dp_claim_fail(c, err.msg);
	dp_driver_clear_status(d->driver, &id);
	log_info(d->opts.log, "claim unprepared", LOG_Z("namespace", id.ns),
		 LOG_Z("claim", id.name));
	return 0;
}

static void unprepare_end(struct nic_job *j)
{
	struct dp_claim *c = CONTAINER_OF(j, struct unprepare, job)->claim;
	int r;

	if (j->failure.code != ERR_OK)
		r = dp_claim_fail(c, j->failure.msg);
	else
		r = prepare_release(j->driver, c);
	nic_job_end(j);
	dp_claim_done(c, r);
}

static void unprepare_run(struct nic_job *j)
{
	const struct nic_use *first;

	nic_job_pick(j, is_claims);
	first = j->nuses > 0 ? j->uses[0] : NULL;
	if (first && strcmp(first->pod_uid, j->pod_uid) != 0) {
		nic_job_move(j, first->pod_uid);
		return;
	}
	nic_job_detach(j, "the claim is unprepared", unprepare_end);
}

int nic_unprepare(void *arg, struct dp_claim *c)
{
	struct nic_driver *d = arg;
	struct nic_use *first = nic_prepare_first(d, dp_claim_uid(c));
	struct unprepare *j;

	if (!first)
		return prepare_release(d, c);
	j = nic_job_new(d, sizeof(*j), first->pod_uid, unprepare_run);
	j->claim = c;
	j->job.owed = true;
	nic_job_queue(&j->job);
	return DP_LATER;
}
