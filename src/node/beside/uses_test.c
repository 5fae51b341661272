/*
 * Devices of a pod from a kubelet's PodResources, and the kubelet's reports with our ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "node/beside/beside_impl.h"
#include "node/claims/claims.h"

#define GPU "example.com/gpu"

static char *z(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* A pod with a container `main` that names requests a and b of the claim, and one that names it. */
static const char claimed[] =
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{"
	"\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c\"},"
	"{\"name\":\"again\",\"resourceClaimName\":\"c\"}],\"containers\":["
	"{\"name\":\"main\",\"resources\":{\"claims\":[{\"name\":\"gpu\",\"request\":\"a\"}]}},"
	"{\"name\":\"side\",\"resources\":{\"claims\":[{\"name\":\"gpu\"}]}}]},"
	"\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"allocatedResourcesStatus\":["
	"{\"name\":\"claim:gpu/a\",\"resources\":[{\"resourceID\":\"vendor/gpu=g0\","
	"\"health\":\"Healthy\"},{\"resourceID\":\"other\",\"health\":\"Unhealthy\"}]}]}]}}";

static const char extended[] =
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{"
	"\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"" GPU "\":\"1\"}}}]},"
	"\"status\":{\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"c\","
	"\"requestMappings\":[{\"containerName\":\"main\",\"resourceName\":\"" GPU "\","
	"\"requestName\":\"r\"}]}}}";

struct fixture {
	struct arena a;
	struct pod *pod;
	struct beside b;
	struct beside_plugin plugin;
	const struct assign_use *uses;
	size_t n;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .plugin = { .resource = STR(GPU) } };
	arena_init(&f.a, MIB);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	pod_unref(f->pod);
	arena_release(&f->a);
	return 0;
}

static Podresources__DynamicResource *claim_of(struct fixture *f, const char *device)
{
	Podresources__DynamicResource *d = ARENA_NEW(&f->a, Podresources__DynamicResource);
	Podresources__ClaimResource *r = ARENA_NEW(&f->a, Podresources__ClaimResource);
	Podresources__CdiDevice *cdi = ARENA_NEW(&f->a, Podresources__CdiDevice);

	podresources__dynamic_resource__init(d);
	podresources__claim_resource__init(r);
	podresources__cdi_device__init(cdi);
	cdi->name = arena_printf(&f->a, "vendor/gpu=%s", device);
	r->driver_name = z("d");
	r->pool_name = z("p");
	r->device_name = z(device);
	r->cdi_devices = ARENA_ARRAY(&f->a, Podresources__CdiDevice *, 1);
	r->cdi_devices[0] = cdi;
	r->n_cdi_devices = 1;
	d->claim_name = z("c");
	d->claim_namespace = z("ns");
	d->claim_resources = ARENA_ARRAY(&f->a, Podresources__ClaimResource *, 1);
	d->claim_resources[0] = r;
	d->n_claim_resources = 1;
	return d;
}

/* A container with one device of the claim, and one of the plugin on two NUMA nodes. */
static Podresources__ContainerResources *container_of(struct fixture *f, const char *name,
						      const char *device, const char *gpu)
{
	Podresources__ContainerResources *c = ARENA_NEW(&f->a, Podresources__ContainerResources);

	podresources__container_resources__init(c);
	c->name = z(name);
	c->dynamic_resources = ARENA_ARRAY(&f->a, Podresources__DynamicResource *, 1);
	c->devices = ARENA_ARRAY(&f->a, Podresources__ContainerDevices *, 2);
	if (device)
		c->dynamic_resources[c->n_dynamic_resources++] = claim_of(f, device);
	for (size_t i = 0; gpu && i < 2; i++) {
		Podresources__ContainerDevices *d = ARENA_NEW(&f->a,
							      Podresources__ContainerDevices);

		podresources__container_devices__init(d);
		d->resource_name = z(GPU);
		d->device_ids = ARENA_ARRAY(&f->a, char *, 1);
		d->device_ids[0] = z(gpu);
		d->n_device_ids = 1;
		c->devices[c->n_devices++] = d;
	}
	return c;
}

static void read_uses(struct fixture *f, const char *pod, Podresources__ContainerResources *x,
		      Podresources__ContainerResources *y)
{
	Podresources__ContainerResources *v[] = { x, y };
	Podresources__PodResources state = PODRESOURCES__POD_RESOURCES__INIT;
	struct error err;

	state.containers = v;
	state.n_containers = y ? 2 : 1;
	if (pod_parse(str_from(pod), &f->pod, &err) < 0)
		fail_msg("%s", err.msg);
	f->n = beside_uses(&f->b, &state, f->pod, &f->a, &f->uses);
}

static void a_device_of_two_containers_is_one_use_for_each_name_of_its_claim(void **state)
{
	struct fixture *f = *state;

	read_uses(f, claimed, container_of(f, "main", "g0", NULL),
		  container_of(f, "side", "g0", NULL));
	assert_int_equal(f->n, 2);
	assert_true(str_eqz(f->uses[0].pod_claim, "gpu"));
	assert_true(str_eqz(f->uses[1].pod_claim, "again"));
	assert_true(str_eqz(f->uses[0].device.device, "g0"));
}

static void a_device_fits_only_requests_of_its_containers(void **state)
{
	struct fixture *f = *state;

	read_uses(f, claimed, container_of(f, "main", "g0", NULL),
		  container_of(f, "side", "g1", NULL));
	assert_true(claims_device_fits(&f->uses[0].device, STR("a")));
	assert_false(claims_device_fits(&f->uses[0].device, STR("b")));
	assert_true(str_eqz(f->uses[2].device.device, "g1"));
	assert_false(claims_device_fits(&f->uses[2].device, STR("a")));
	assert_true(claims_device_fits(&f->uses[2].device, STR_NULL));
}

static void the_claim_behind_extended_resources_is_found(void **state)
{
	struct fixture *f = *state;

	read_uses(f, extended, container_of(f, "main", "g0", NULL), NULL);
	assert_int_equal(f->n, 1);
	assert_true(str_eqz(f->uses[0].pod_claim, CLAIMS_EXTENDED));
	assert_true(claims_device_fits(&f->uses[0].device, STR("r")));
}

static void only_named_plugins_count_and_a_device_on_two_numa_nodes_counts_once(void **state)
{
	struct fixture *f = *state;

	read_uses(f, extended, container_of(f, "main", NULL, "7"), NULL);
	assert_int_equal(f->n, 0);
	pod_unref(f->pod);
	f->b.opts.plugins = &f->plugin;
	f->b.opts.nplugins = 1;
	read_uses(f, extended, container_of(f, "main", NULL, "7"), NULL);
	assert_int_equal(f->n, 1);
	assert_true(str_eqz(f->uses[0].container, "main"));
	assert_true(str_eqz(f->uses[0].id, "7"));
}

static void the_kubelets_cdi_ids_become_ours(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(4 * KIB);

	read_uses(f, claimed, container_of(f, "main", "g0", NULL), NULL);
	assert_int_equal(json_print(&text, beside_theirs(f->pod, f->uses, f->n, &f->a), NULL), 0);
	assert_non_null(strstr(text.p, "\"resourceID\":\"d/p/g0\",\"health\":\"Healthy\""));
	assert_non_null(strstr(text.p, "\"resourceID\":\"other\""));
	buf_release(&text);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_device_of_two_containers_is_one_use_for_each_name_of_its_claim),
		T(a_device_fits_only_requests_of_its_containers),
		T(the_claim_behind_extended_resources_is_found),
		T(only_named_plugins_count_and_a_device_on_two_numa_nodes_counts_once),
		T(the_kubelets_cdi_ids_become_ours),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
