/*
 * Does for tests what controller.c does in production.
 */
#include "controller/run/controller_world.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/shared/served.h"
#include "net/loop/loop.h"

struct controller_world *controller_world_new(uint64_t seed)
{
	struct controller_world *w = XNEW(struct controller_world);

	w->sim = sim_new(&(struct sim_opts){ .seed = seed });
	w->api = fakeapi_new(w->sim, seed);
	w->loop = sim_loop_new(w->sim, "controller");
	return w;
}

void controller_world_start(struct controller_world *w)
{
	struct client *c = fakeapi_client(w->api, w->loop);

	w->ctx = (struct context){
		.loop = w->loop,
		.client = c,
		.informers = informers_new(c, NULL),
		.served = served_new(c),
		.recorder = recorder_new(
			&(struct recorder_opts){ .client = c, .component = "controller" }),
		.log = log_null(),
	};
}

void controller_world_stop(struct controller_world *w)
{
	recorder_free(w->ctx.recorder);
	served_free(w->ctx.served);
	informers_free(w->ctx.informers);
	client_free(w->ctx.client);
	sim_run_for(w->sim, 100);
}

struct devices *controller_world_devices(struct controller_world *w, bool health)
{
	return devices_new(&(struct devices_opts){
		.loop = w->loop,
		.informers = w->ctx.informers,
		.served = { .slices = resource_builtin("resource.k8s.io", "v1", "resourceslices"),
			    .claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims"),
			    .rules = resource_builtin("resource.k8s.io", "v1",
						      "devicetaintrules") },
		.health = health,
	});
}

void controller_world_run(struct controller_world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

void controller_world_free(struct controller_world *w)
{
	fakeapi_free(w->api);
	loop_free(w->loop);
	sim_free(w->sim);
	free(w);
}
