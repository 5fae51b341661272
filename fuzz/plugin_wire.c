/*
 * Messages of plugins and drivers: byte 0 chooses the type, the rest is the encoded message. Every
 * message that can be decoded is converted. Results have the announced length, texts are
 * terminated, messages are clean, and a saved allocation can be read again.
 */
#include <stdint.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "grpc/message.h"
#include "node/health/health_message.h"
#include "node/plugins/wire.h"
#include "target.h"

enum { MESSAGES = 7 };

static void check_text(struct str s)
{
	require(s.n == 0 || strlen(s.p) == s.n);
	require(str_is_utf8(s));
}

static void check_message(struct arena *a, struct str message)
{
	require(str_is_utf8(message) && message.n <= RESOURCE_HEALTH_MESSAGE_MAX);
	require(str_eq(health_message_clean(message, a), message));
}

static void check_device(struct arena *a, const struct assign_device *d)
{
	check_text(d->id);
	check_message(a, d->message);
	require(d->health == ASSIGN_HEALTHY || d->health == ASSIGN_UNHEALTHY);
	require(d->has_topology || d->nnuma == 0);
	require(d->nnuma == 0 || d->numa);
}

static void check_devices(struct arena *a, const void *message)
{
	const Deviceplugin__ListAndWatchResponse *m = message;
	struct assign_device *v;
	struct error err;
	size_t n;

	require(plugin_wire_devices(m, a, &v, &n, &err) == 0);
	require(n == m->n_devices);
	for (size_t i = 0; i < n; i++)
		check_device(a, &v[i]);
}

static void check_allocated(struct arena *a, const void *message)
{
	const Deviceplugin__AllocateResponse *m = message;
	struct str packed;
	struct error err;
	void *again;

	if (plugin_wire_allocated(m, a, &packed, &err) < 0) {
		require(err.code == ERR_PROTOCOL && err.msg[0]);
		return;
	}
	require(grpc_message_unpack(m->container_responses[0]->base.descriptor, packed, a, &again,
				    &err) == 0);
}

static void check_health(struct arena *a, const struct plugin_wire_health *dialect,
			 const void *message)
{
	struct plugin_health *v;
	struct error err;
	size_t n;

	require(dialect->read(message, a, &v, &n, &err) == 0);
	for (size_t i = 0; i < n; i++) {
		check_text(v[i].pool);
		check_text(v[i].device);
		check_message(a, v[i].message);
		require((unsigned)v[i].health <= ASSIGN_UNKNOWN);
	}
}

static const struct plugin_claim asked[] = { { .uid = { "a", 1 } }, { .uid = { "b", 1 } } };

static void check_results(const struct plugin_claim_result *v, int r, const struct error *err)
{
	if (r < 0) {
		require(err->msg[0] && err->code == ERR_PROTOCOL);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		require(str_eq(v[i].uid, asked[i].uid));
		check_text(v[i].error);
		for (size_t k = 0; k < v[i].ndevices; k++) {
			const struct assign_claim_device *d = &v[i].devices[k];

			check_text(d->pool);
			check_text(d->device);
			check_text(d->share_id);
			for (size_t q = 0; q < d->nrequests; q++)
				check_text(d->requests[q]);
			for (size_t q = 0; q < d->ncdi; q++)
				check_text(d->cdi[q]);
		}
	}
}

static void check_claims(struct arena *a, bool prepare, const void *message)
{
	struct plugin_claim_result *v = NULL;
	struct error err = { 0 };
	int r;

	if (prepare)
		r = plugin_wire_prepared(message, STR("driver"), asked, ARRAY_SIZE(asked), a, &v,
					 &err);
	else
		r = plugin_wire_unprepared(message, asked, ARRAY_SIZE(asked), a, &v, &err);
	check_results(v, r, &err);
}

static const ProtobufCMessageDescriptor *type_of(unsigned which)
{
	const struct grpc_method *const methods[MESSAGES] = {
		&plugin_wire_list_and_watch,   &plugin_wire_health[0].watch,
		&plugin_wire_health[2].watch,  &plugin_wire_dra[0].prepare,
		&plugin_wire_dra[0].unprepare, &plugin_wire_get_info,
		&plugin_wire_allocate,
	};

	return methods[which]->response;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned which = size ? data[0] % MESSAGES : 0;
	struct arena a;
	struct error err;
	void *m;

	if (size == 0)
		return 0;
	arena_init(&a, 64 * MIB);
	if (grpc_message_unpack(type_of(which), str_of(data + 1, size - 1), &a, &m, &err) == 0) {
		if (which == 0)
			check_devices(&a, m);
		else if (which <= 2)
			check_health(&a, &plugin_wire_health[which == 1 ? 0 : 2], m);
		else if (which <= 4)
			check_claims(&a, which == 3, m);
		else if (which == 6)
			check_allocated(&a, m);
	}
	arena_release(&a);
	return 0;
}
