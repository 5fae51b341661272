/*
 * Cards of device plugins: pods that need some, cards that fall ill, and what must hold. A card is
 * held by one pod at a time at its agent. In the end the node offers the cards that are well, and
 * no pod waits though there are enough of them.
 */
#include "cluster_world.h"

#include "base/json/json.h"
#include "cluster_node.h"
#include "cluster_plugin.h"

void cards_create_pod(struct cluster *w)
{
	unsigned n = 1 + cluster_pick(w, 2);
	char container[128];

	(void)snprintf(container, sizeof(container),
		       ",\"resources\":{\"limits\":{\"" CLUSTER_CARD "\":\"%u\"}}", n);
	cluster_load_pod(w, "", container, false);
}

void cards_hurt(struct cluster *w)
{
	unsigned node = cluster_pick(w, CLUSTER_NODES), card = cluster_pick(w, CLUSTER_CARDS);
	bool sick = !w->cards[node].sick[card];

	cluster_tell(w, "card-%u of n%u is %s", card, node, sick ? "sick" : "well");
	cluster_plugin_set_sick(&w->plugins[node], card, sick);
}

/* --- what must hold ------------------------------------------------------------------------ */

struct holding {
	struct cluster *w;
	const char *node;
	char by[CLUSTER_CARDS][64];
};

static void hold(void *arg, struct str pod, struct str id)
{
	struct holding *h = arg;
	unsigned i = (unsigned)(id.p[id.n - 1] - '0');

	if (h->by[i][0] && !str_eqz(pod, h->by[i]))
		cluster_fail(h->w, "%s: card-%u is held by pods %s and %.*s", h->node, i, h->by[i],
			     STR_ARG(pod));
	(void)snprintf(h->by[i], sizeof(h->by[i]), "%.*s", STR_ARG(pod));
}

void cards_check(struct cluster *w)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		struct holding h = { .w = w, .node = w->nodes[i].host };

		cluster_node_each_card(&w->nodes[i], &w->arena, hold, &h);
	}
}

static int64_t number_at(const struct json *tree, const char *pointer)
{
	int64_t n = 0;

	(void)str_to_i64(json_str(json_pointer(tree, str_from(pointer))), &n);
	return n;
}

int64_t cards_of_pod(const struct json *pod)
{
	return number_at(pod, "/spec/containers/0/resources/limits/" CLUSTER_CARD_POINTER);
}

struct use {
	const char *node;
	int64_t n;
};

static void use(void *arg, const struct json *pod)
{
	struct use *u = arg;
	struct str phase = json_str(json_pointer(pod, STR("/status/phase")));

	if (str_eqz(json_str(json_pointer(pod, STR("/spec/nodeName"))), u->node) &&
	    !str_eqz(phase, "Failed") && !str_eqz(phase, "Succeeded"))
		u->n += cards_of_pod(pod);
}

static int64_t offered(struct cluster *w, unsigned node)
{
	return number_at(
		cluster_server_get(w->server, "", "nodes", "", w->nodes[node].host, &w->arena),
		"/status/allocatable/" CLUSTER_CARD_POINTER);
}

bool cards_are_free(struct cluster *w, int64_t n)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		struct use u = { .node = w->nodes[i].host };

		cluster_server_each(w->server, "", "pods", &w->arena, use, &u);
		if (offered(w, i) - u.n >= n)
			return true;
	}
	return false;
}

bool cards_settled(struct cluster *w)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		int64_t well = 0;

		for (unsigned k = 0; k < CLUSTER_CARDS; k++)
			well += !w->cards[i].sick[k];
		if (offered(w, i) != well)
			return false;
	}
	return true;
}
