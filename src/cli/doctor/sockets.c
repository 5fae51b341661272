/*
 * The proxy's own errors have a status object as their body, so they differ from a pod's reply. A
 * pod that cannot be reached costs a time-out. After a few of them the others are left out.
 */
#include "cli/doctor/sockets.h"

#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/doctor/readyz.h"

#define MORE_SIZE 40

enum { UNREACHED_MAX = 3 };

bool sockets_has(struct str part)
{
	return str_eqz(part, "attach") || str_eqz(part, "nvidia") || str_eqz(part, "sim");
}

/* --- one pod ---------------------------------------------------------------------------------- */

static bool runs(const struct json *pod)
{
	const struct json *c = json_first(json_getz(json_getz(pod, "status"), "containerStatuses"));

	return json_getz(json_getz(c, "state"), "running") != NULL;
}

static int64_t port_of(const struct json *pod)
{
	const struct json *c = json_first(json_getz(json_getz(pod, "spec"), "containers"));

	return json_i64_at(json_find(json_getz(c, "ports"), "name", STR("metrics")),
			   "containerPort", 0);
}

static void note_fault(struct sockets *s, const struct json *pod, struct str check, struct str why)
{
	struct socket_fault *f = s->faults;

	while (f < s->faults + s->nfaults && !str_eq(f->check, check))
		f++;
	if (f == s->faults + SOCKETS_FAULTS_MAX)
		return;
	if (f == s->faults + s->nfaults) {
		s->nfaults++;
		*f = (struct socket_fault){
			.check = check,
			.why = why,
			.pod = json_text_at(json_getz(pod, "metadata"), "name"),
			.node = json_text_at(json_getz(pod, "spec"), "nodeName"),
		};
	}
	f->n++;
}

static void note_reply(struct sockets *s, const struct json *pod, struct str text)
{
	struct str check, why;

	if (doctor_readyz_failure(text, &check, &why))
		note_fault(s, pod, check, why);
	else if (!doctor_readyz_passed(text, STR("kubelet-")))
		s->silent++;
}

static void note_no_reply(struct sockets *s, const struct json *pod, const struct error *err)
{
	if (err->code == ERR_FORBIDDEN) {
		doctor_say(s->doctor, DOCTOR_WARN, "sockets",
			   "run it as a user who may get pods/proxy", "not checked: %s", err->msg);
		s->doctor->no_proxy = true;
		return;
	}
	if (s->unreached++ == 0) {
		s->unreached_pod = json_text_at(json_getz(pod, "metadata"), "name");
		s->why = *err;
	}
}

bool sockets_ask(struct sockets *s, const struct json *pod)
{
	struct arena *a = s->doctor->arena;
	int64_t port = port_of(pod);
	struct str text, check, why;
	struct error err;

	if (s->doctor->no_proxy || port == 0 || !runs(pod))
		return false;
	if (s->asked == SOCKETS_PODS_MAX || s->unreached == UNREACHED_MAX) {
		s->left_out++;
		return true;
	}
	s->asked++;
	(void)doctor_fetch_any(
		s->kube,
		arena_printf(a, "/api/v1/namespaces/%.*s/pods/https:%.*s:%d/proxy/readyz",
			     STR_ARG(s->ns),
			     STR_ARG(json_text_at(json_getz(pod, "metadata"), "name")), (int)port),
		"verbose", &text, &err);
	if (!doctor_readyz_is(text)) {
		note_no_reply(s, pod, &err);
		return false;
	}
	note_reply(s, pod, text);
	return doctor_readyz_failure(text, &check, &why);
}

/* --- findings --------------------------------------------------------------------------------- */

/* "devplane-attach-8mk98 on n1 and 2 more" */
static const char *who(struct arena *a, const struct socket_fault *f)
{
	char more[MORE_SIZE] = "";

	if (f->n > 1)
		(void)snprintf(more, sizeof(more), " and %zu more", f->n - 1);
	return arena_printf(a, "%.*s on %.*s%s", STR_ARG(f->pod), STR_ARG(f->node), more);
}

void sockets_say_unready(struct sockets *s, const char *subject, const char *counts)
{
	for (size_t i = 0; i < s->nfaults; i++) {
		const struct socket_fault *f = &s->faults[i];

		doctor_say(s->doctor, DOCTOR_FAIL, subject, NULL, "%s; %s %s not: %.*s: %.*s",
			   counts, who(s->doctor->arena, f), f->n > 1 ? "are" : "is",
			   STR_ARG(f->check), STR_ARG(f->why));
	}
}

static const char *left_out(const struct sockets *s)
{
	struct arena *a = s->doctor->arena;
	const char *silent = "";

	if (s->silent > 0)
		silent = arena_printf(a, "; %zu are of a version that does not say it", s->silent);
	return s->left_out > 0 ? arena_printf(a, "%s; %zu were not asked", silent, s->left_out)
			       : silent;
}

void sockets_say(struct sockets *s)
{
	const char *subject = arena_printf(s->doctor->arena, "%.*s sockets", STR_ARG(s->part));
	size_t known = s->asked - s->unreached - s->silent;

	for (size_t i = 0; i < s->nfaults; i++)
		doctor_say(s->doctor, DOCTOR_FAIL, subject, NULL, "%s: %.*s: %.*s",
			   who(s->doctor->arena, &s->faults[i]), STR_ARG(s->faults[i].check),
			   STR_ARG(s->faults[i].why));
	if (s->doctor->no_proxy)
		return;
	if (s->unreached > 0)
		doctor_say(s->doctor, DOCTOR_WARN, subject,
			   "check that the API server reaches the port `metrics` of these pods",
			   "%zu of %zu pods did not answer, such as %.*s: %s", s->unreached,
			   s->asked, STR_ARG(s->unreached_pod), s->why.msg);
	else if (s->nfaults == 0 && s->asked > 0)
		doctor_say(s->doctor, known > 0 ? DOCTOR_OK : DOCTOR_WARN, subject,
			   known > 0 ? NULL : "use one version of the part",
			   "%zu of %zu pods reach those of their node%s", known, s->asked,
			   left_out(s));
}
