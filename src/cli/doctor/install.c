/*
 * The parts of deploy/ in a cluster: its versions, and for each workload whether it is ready and of
 * this version, and who leads. For a pod that does not start, or is not ready, it says why: the
 * image, a folder that its node lacks, or the check that fails. A workload belongs to us by the
 * labels that the manifests set.
 */
#include "api/schema/tree.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/system/version.h"
#include "base/time/timestamp.h"
#include "cli/connect/kube.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/gates.h"
#include "cli/doctor/sockets.h"
#include "net/loop/loop.h"

#define COMPONENT "app.kubernetes.io/component"
#define OURS      "app.kubernetes.io/part-of=devplane"

/* A Deployment or DaemonSet. Texts are borrowed from its tree. */
struct workload {
	const struct json *object, *pod; /* pod: the spec of its pods */
	struct str part, ns, name;
	int64_t wanted, ready;
};

/* --- versions --------------------------------------------------------------------------------- */

static void install_check_server(struct doctor *d, struct kube *k)
{
	struct str version, minor;
	struct json *tree;
	int64_t number = 0;
	struct error err;

	if (doctor_fetch(k, "/version", NULL, &tree, &err) < 0) {
		doctor_say(d, DOCTOR_WARN, "version", NULL, "%s", err.msg);
		return;
	}
	version = json_text_at(tree, "gitVersion");
	minor = json_text_at(tree, "minor");
	while (minor.n > 0 && minor.p[minor.n - 1] == '+')
		minor.n--;
	if (str_to_i64(minor, &number) && number < DOCTOR_MINOR_MIN)
		doctor_say(d, DOCTOR_FAIL, "version", "upgrade the cluster",
			   "the server is %.*s, and resource.k8s.io/v1 came with v1.%d",
			   STR_ARG(version), DOCTOR_MINOR_MIN);
	else
		doctor_say(d, DOCTOR_OK, "version", NULL, "the server is %.*s, this program %s",
			   STR_ARG(version), version_get()->version);
}

/* Gates of the API server; kubelets.c has those of kubelets. */
static const struct {
	const char *name, *without;
} gates[] = {
	{ "DynamicResourceAllocation", "pods cannot use claims" },
	{ "ResourceHealthStatus",
	  "the server drops the health of devices that kubelets write into pods" },
	{ "DRADeviceTaintRules", "unhealthy devices can only be tainted by their driver" },
};

static void check_gates(struct doctor *d, struct kube *k)
{
	struct str metrics;
	struct error err;
	size_t off = 0;

	if (doctor_fetch(k, "/metrics", &metrics, NULL, &err) < 0) {
		doctor_say(d, DOCTOR_WARN, "gates", "run it as a user who may get /metrics",
			   "not checked: %s", err.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(gates); i++) {
		if (!doctor_gate_is_off(metrics, gates[i].name))
			continue;
		off++;
		doctor_say(d, DOCTOR_WARN, "gates",
			   arena_printf(d->arena, "start the server with --feature-gates=%s=true",
					gates[i].name),
			   "%s is off: %s", gates[i].name, gates[i].without);
	}
	if (off == 0)
		doctor_say(d, DOCTOR_OK, "gates", NULL, "none that matters is off");
}

static void check_api(struct doctor *d, struct kube *k)
{
	struct json *tree;
	struct error err;

	if (doctor_fetch(k, "/apis/resource.k8s.io/v1", NULL, &tree, &err) < 0)
		doctor_say(
			d, DOCTOR_FAIL, "device API",
			"use Kubernetes 1.34 or later, without --runtime-config switching it off",
			"resource.k8s.io/v1 is not served: %s", err.msg);
	else
		doctor_say(d, DOCTOR_OK, "device API", NULL, "resource.k8s.io/v1 is served");
}

/* --- pods ------------------------------------------------------------------------------------- */

static bool is_image_error(struct str reason)
{
	return str_eqz(reason, "ErrImagePull") || str_eqz(reason, "ImagePullBackOff") ||
	       str_eqz(reason, "ErrImageNeverPull") || str_eqz(reason, "InvalidImageName");
}

/* The newest warning about the pod: what keeps it from being made. */
static struct str last_warning(struct kube *k, struct str ns, struct str pod)
{
	struct resource events = resource_builtin("", "v1", "events");
	struct kube_query q = { .resource = &events, .ns = ns };
	struct str newest = STR_NULL, at = STR_NULL;
	struct json *list;

	q.field_selector = str_from(
		arena_printf(k->arena, "involvedObject.name=%.*s,type=Warning", STR_ARG(pod)));
	if (kube_read(k, &q, &list, NULL) < 0)
		return STR_NULL;
	JSON_FOREACH (it, json_getz(list, "items")) {
		struct str when = json_text_at(it, "lastTimestamp");

		if (at.n && str_cmp(when, at) < 0)
			continue;
		at = when;
		newest = json_text_at(it, "message");
	}
	return newest;
}

static void say_pod(struct doctor *d, struct kube *k, const struct workload *w,
		    const struct json *pod, const char *subject)
{
	const struct json *status = json_getz(pod, "status");
	const struct json *c = json_first(json_getz(status, "containerStatuses"));
	const struct json *waiting = json_getz(json_getz(c, "state"), "waiting");
	struct str name = json_text_at(json_getz(pod, "metadata"), "name");
	struct str reason = json_text_at(waiting, "reason"), why;

	if (is_image_error(reason)) {
		doctor_say(
			d, DOCTOR_FAIL, subject,
			"import the image on the nodes, or name your registry in an overlay (see "
			"docs/install.md)",
			"pod %.*s: %.*s of %.*s", STR_ARG(name), STR_ARG(reason),
			STR_ARG(json_text_at(c, "image")));
		return;
	}
	why = last_warning(k, w->ns, name);
	if (!why.n)
		why = reason.n ? reason : json_text_at(status, "phase");
	doctor_say(d, DOCTOR_FAIL, subject,
		   arena_printf(d->arena,
				"see `kubectl describe pod` and `kubectl logs -n %.*s %.*s`",
				STR_ARG(w->ns), STR_ARG(name)),
		   "%lld of %lld pods are ready; %.*s is not: %.*s", (long long)w->ready,
		   (long long)w->wanted, STR_ARG(name), STR_ARG(why));
}

static struct json *pods_of(struct kube *k, const struct workload *w)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct kube_query q = { .resource = &pods, .ns = w->ns };
	struct json *list = NULL;

	q.label_selector = str_from(
		arena_printf(k->arena, OURS "," COMPONENT "=%.*s", STR_ARG(w->part)));
	(void)kube_read(k, &q, &list, NULL);
	return list;
}

/*
 * Why fewer pods are ready than should be: the failing checks of those that run, and the first of
 * the others.
 */
static void say_not_ready(struct doctor *d, struct kube *k, const struct workload *w,
			  const char *subject)
{
	struct sockets s = { .doctor = d, .kube = k, .part = w->part, .ns = w->ns };
	const struct json *other = NULL;

	JSON_FOREACH (it, json_getz(pods_of(k, w), "items"))
		if (!tree_condition_is_true(it, STR("Ready")) && !sockets_ask(&s, it) && !other)
			other = it;
	sockets_say_unready(&s, subject,
			    arena_printf(d->arena, "%lld of %lld pods are ready",
					 (long long)w->ready, (long long)w->wanted));
	if (other)
		say_pod(d, k, w, other, subject);
	else if (s.nfaults == 0)
		doctor_say(d, DOCTOR_FAIL, subject,
			   "check that the cluster's controllers run, and see its events",
			   "%lld of %lld pods are ready, and none of the others exists",
			   (long long)w->ready, (long long)w->wanted);
}

static void check_sockets(struct doctor *d, struct kube *k, const struct workload *w)
{
	struct sockets s = { .doctor = d, .kube = k, .part = w->part, .ns = w->ns };

	JSON_FOREACH (it, json_getz(pods_of(k, w), "items"))
		if (tree_condition_is_true(it, STR("Ready")))
			(void)sockets_ask(&s, it);
	sockets_say(&s);
}

/* --- workloads -------------------------------------------------------------------------------- */

static void check_ready(struct doctor *d, struct kube *k, const struct workload *w)
{
	const char *subject = arena_strdup(d->arena, w->part);

	if (w->wanted == 0)
		doctor_say(d, DOCTOR_WARN, subject,
			   "check its replicas, or the labels of your nodes and its node affinity",
			   "it has no pod");
	else if (w->ready < w->wanted)
		say_not_ready(d, k, w, subject);
	else
		doctor_say(d, DOCTOR_OK, subject, NULL, "%lld of %lld pods are ready",
			   (long long)w->ready, (long long)w->wanted);
}

/* Whether the tag is this version, or a build of it ("0.1.0-7-gabcdef"). A digest says nothing. */
static bool is_this_version(struct str image)
{
	struct str ours = str_from(version_get()->version), name, tag;

	while (str_find(image, STR("/")) >= 0)
		(void)str_split(&image, '/', &name);
	if (str_find(image, STR("@")) >= 0)
		return true;
	(void)str_split(&image, ':', &name);
	return str_split(&image, '-', &tag) && str_eq(tag, ours);
}

static void check_image(struct doctor *d, const struct workload *w)
{
	const char *subject = arena_printf(d->arena, "%.*s image", STR_ARG(w->part));
	struct str image = json_text_at(json_first(json_getz(w->pod, "containers")), "image");

	if (is_this_version(image))
		doctor_say(d, DOCTOR_OK, subject, NULL, "%.*s", STR_ARG(image));
	else
		doctor_say(d, DOCTOR_WARN, subject,
			   "use one version: change the tag in kustomization.yaml, or this program",
			   "%.*s, but this program is %s", STR_ARG(image), version_get()->version);
}

/* The holder of a lease renews it; one whose time has passed has no living holder. */
static void check_lease(struct doctor *d, struct kube *k, const struct workload *w)
{
	struct resource leases = resource_builtin("coordination.k8s.io", "v1", "leases");
	struct kube_query q = { .resource = &leases, .ns = w->ns };
	const char *subject = arena_printf(d->arena, "%.*s leader", STR_ARG(w->part));
	int64_t renewed, age;
	struct json *lease;
	struct error err;

	q.name = str_from(arena_printf(d->arena, "devplane-%.*s", STR_ARG(w->part)));
	if (kube_read(k, &q, &lease, &err) < 0) {
		doctor_say(d, DOCTOR_WARN, subject, "see the logs of its pods", "%s", err.msg);
		return;
	}
	lease = json_getz(lease, "spec");
	if (timestamp_parse(json_text_at(lease, "renewTime"), &renewed, NULL) < 0)
		return;
	age = (clock_wall(clock_system()) - renewed) / CLOCK_SEC;
	if (age > 2 * json_i64_at(lease, "leaseDurationSeconds", 15))
		doctor_say(d, DOCTOR_FAIL, subject, "see the logs of its pods",
			   "nobody leads: %.*s renewed the lease %lld s ago",
			   STR_ARG(json_text_at(lease, "holderIdentity")), (long long)age);
	else
		doctor_say(d, DOCTOR_OK, subject, NULL, "%.*s",
			   STR_ARG(json_text_at(lease, "holderIdentity")));
}

static bool is_served(const struct json *list, const char *resource)
{
	JSON_FOREACH (r, json_getz(list, "resources"))
		if (str_eqz(json_text_at(r, "name"), resource))
			return true;
	return false;
}

static void check_definitions(struct doctor *d, struct kube *k)
{
	static const char *const own[] = { "resourceslicestatuses", "devicehistories" };
	struct json *list = NULL;
	struct error err;
	int r = doctor_fetch(k, "/apis/devplane.dev/v1alpha1", NULL, &list, &err);

	if (r < 0)
		doctor_say(d, DOCTOR_FAIL, "statuses", "apply deploy/availability again",
			   "devplane.dev/v1alpha1 is not served: %s", err.msg);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++)
		if (!is_served(list, own[i]))
			doctor_say(d, DOCTOR_FAIL, "statuses", "apply deploy/availability again",
				   "%s.devplane.dev is not served", own[i]);
}

static void check_workload(struct doctor *d, struct kube *k, const struct json *o, bool daemons)
{
	const struct json *meta = json_getz(o, "metadata"), *status = json_getz(o, "status");
	const struct json *pod = json_pointer(o, STR("/spec/template/spec"));
	struct workload w = { .object = o, .pod = pod };

	w.part = json_text_at(json_getz(meta, "labels"), COMPONENT);
	w.ns = json_text_at(meta, "namespace");
	w.name = json_text_at(meta, "name");
	w.wanted = daemons ? json_i64_at(status, "desiredNumberScheduled", 0)
			   : json_i64_at(json_getz(o, "spec"), "replicas", 1);
	w.ready = json_i64_at(status, daemons ? "numberReady" : "readyReplicas", 0);
	check_ready(d, k, &w);
	if (sockets_has(w.part) && w.ready > 0)
		check_sockets(d, k, &w);
	check_image(d, &w);
	if (!d->no_reviews)
		doctor_check_rights(d, k, w.part, w.ns, pod);
	doctor_check_policies(d, k, w.part, pod);
	if (str_eqz(w.part, "availability") || str_eqz(w.part, "scheduler"))
		check_lease(d, k, &w);
	if (str_eqz(w.part, "availability"))
		check_definitions(d, k);
}

static size_t check_kind(struct doctor *d, struct kube *k, const char *plural, bool daemons)
{
	struct resource r = resource_builtin("apps", "v1", plural);
	struct kube_query q = { .resource = &r, .label_selector = STR(OURS) };
	struct json *list;
	struct error err;
	size_t n = 0;

	if (kube_read(k, &q, &list, &err) < 0) {
		doctor_say(d, DOCTOR_FAIL, plural, "run it as a user who may list them", "%s",
			   err.msg);
		return 1;
	}
	JSON_FOREACH (it, json_getz(list, "items")) {
		check_workload(d, k, it, daemons);
		n++;
	}
	return n;
}

void doctor_check_install(struct doctor *d, struct kube *k)
{
	size_t n;

	install_check_server(d, k);
	check_api(d, k);
	check_gates(d, k);
	doctor_check_kubelets(d, k);
	n = check_kind(d, k, "deployments", false) + check_kind(d, k, "daemonsets", true);
	if (n == 0)
		doctor_say(d, DOCTOR_WARN, "installation",
			   "install a part, such as `kubectl apply -k deploy/availability`",
			   "no Deployment or DaemonSet has the label " OURS);
}
