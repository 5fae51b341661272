/*
 * Schedulers that lead and are held up: cut off, or paused, for longer than a lease lasts. Another
 * one leads then, and what the first had sent, or does before it knows, comes late.
 */
#include "cluster_server.h"
#include "cluster_world.h"

#include "base/json/json.h"
#include "cluster_driver.h"

enum {
	LEASE_MS = 16 * 1000, /* of a scheduler, and a bit */
	MOMENT = 20, /* turns of all hosts until a pod's devices are being written, .. */
	MOMENTS = 14, /* .. and until they are */
};

/* One of these has the lease. */
static struct cluster_role *leader_of(struct cluster *w, const char *name,
				      struct cluster_role *roles, unsigned n)
{
	const struct json *lease;
	struct str holder;

	if (!cluster_server_ready(w->server))
		return NULL;
	lease = cluster_server_get(w->server, "coordination.k8s.io", "leases", "kube-system", name,
				   &w->arena);
	holder = json_str(json_pointer(lease, STR("/spec/holderIdentity")));
	for (unsigned i = 0; i < n; i++) {
		struct cluster_role *role = &roles[i];

		if (role->state == CLUSTER_UP && str_starts(holder, str_from(role->host)))
			return role;
	}
	return NULL;
}

static struct cluster_role *leader(struct cluster *w)
{
	return leader_of(w, "kube-scheduler", w->schedulers, CLUSTER_SCHEDULERS);
}

static void cut_off(struct cluster *w, const struct cluster_role *role, int64_t ms)
{
	cluster_tell(w, "cut off the leader %s for %lld ms", role->host, (long long)ms);
	sim_cut(w->sim, role->host, NULL);
	w->heal_ms = sim_elapsed_ms(w->sim) + ms;
}

static void hold_up(struct cluster *w, const struct cluster_role *role)
{
	int64_t ms = LEASE_MS + cluster_pick(w, 15000);

	if (!role || w->heal_ms)
		return;
	if (cluster_chance(w, 0.5)) {
		cut_off(w, role, ms);
		return;
	}
	cluster_tell(w, "pause the leader %s for %lld ms", role->host, (long long)ms);
	sim_pause(role->loops[0], ms);
}

void leaders_hold_up(struct cluster *w)
{
	hold_up(w, leader(w));
}

void controllers_hold_up(struct cluster *w)
{
	hold_up(w, leader_of(w, "devplane-controller", w->controllers, CLUSTER_CONTROLLERS));
}

void controllers_strike(struct cluster *w)
{
	struct cluster_role *role = leader_of(w, "devplane-controller", w->controllers,
					      CLUSTER_CONTROLLERS);

	if (!role || cluster_chance(w, 0.3)) {
		hold_up(w, role);
		return;
	}
	cluster_tell(w, "kill the leader %s", role->host);
	cluster_role_kill(role, SIM_CRASH_PROCESS, cluster_faults_ms(w));
}

/* --- a late allocation ----------------------------------------------------------------------- */

static void make_pod(struct cluster *w, const char *name, const char *claim)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"automountServiceAccountToken\":"
		"false,\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
		"\"claims\":[{\"name\":\"g\"}]}}],\"resourceClaims\":[{\"name\":\"g\",%s}]}}",
		name, claim);
	cluster_load_try(w, "pods", text);
}

/* For a claim that stays when its pod is gone. */
static void ask_for_one(struct cluster *w)
{
	cluster_load_try(w, "resourceclaims",
			 "{\"metadata\":{\"name\":\"late\"},\"spec\":{\"devices\":{\"requests\":[{"
			 "\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}}");
	cluster_run(w, 1000);
	make_pod(w, "late", "\"resourceClaimName\":\"late\"");
}

static void ask_for_all(struct cluster *w)
{
	char name[32];

	for (unsigned i = 0; i < CLUSTER_NODES * CLUSTER_DEVICES; i++) {
		(void)snprintf(name, sizeof(name), "all-%u", i);
		make_pod(w, name, "\"resourceClaimTemplateName\":\"gpus-1\"");
	}
}

static bool has_pod(void *arg)
{
	struct cluster *w = arg;

	return cluster_server_get(w->server, "", "pods", "default", "late", &w->arena) != NULL;
}

/* The moment is drawn: often enough the allocation has just been sent, and is not there yet. */
void leaders_be_late(struct cluster *w)
{
	unsigned turns = MOMENT + cluster_pick(w, MOMENTS);
	const struct cluster_role *role;

	cluster_run(w, 5000);
	ask_for_one(w);
	(void)sim_run_until(w->sim, has_pod, w, 1000);
	while (turns-- > 0)
		(void)sim_step(w->sim);
	role = leader(w);
	if (!role)
		return;
	cut_off(w, role, LEASE_MS + 10000);
	cluster_load_try_delete(w, "pods", "late", 0);
	cluster_run(w, 1000);
	ask_for_all(w);
	while (w->heal_ms)
		cluster_run(w, 1);
	/* A claim of a pod that is gone gives its device back within milliseconds. */
	for (unsigned ms = 0; ms < 200; ms++) {
		sim_run_for(w->sim, 1);
		cluster_check(w);
	}
}
