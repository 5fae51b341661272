/*
 * Pods that ask for nothing are kept as their hash alone: there are many of them, and all that is
 * ever asked is whether one is there. A node is copied with each change of it, so it is two small
 * arrays and a pointer.
 */
#include "disk_node.h"

#include <stdlib.h>
#include <string.h>

struct asking {
	uint64_t pod;
	struct disk_request request;
};

struct disk_node {
	struct disk_devices *devices;
	struct asking *asking; /* pods that ask for something */
	uint64_t *quiet; /* the others */
	size_t nasking, nquiet;
};

/* --- memory ---------------------------------------------------------------------------------- */

static void *sure(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Room for one more element; the capacity is the next power of two. */
static void *grown(void *v, size_t n, size_t size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return v;
	return sure(realloc(v, (n ? n * 2 : 1) * size));
}

/* A copy with the capacity that grown() expects. */
static void *copied(const void *v, size_t n, size_t size)
{
	size_t room = 1;
	void *copy;

	if (n == 0)
		return NULL;
	while (room < n)
		room *= 2;
	copy = sure(malloc(room * size));
	memcpy(copy, v, n * size);
	return copy;
}

/* --- devices --------------------------------------------------------------------------------- */

struct disk_devices *disk_devices_new(size_t n)
{
	struct disk_devices *d = sure(calloc(1, sizeof(*d)));

	d->refs = 1;
	d->n = n;
	d->v = sure(calloc(n + 1, sizeof(*d->v)));
	return d;
}

struct disk_devices *disk_devices_ref(struct disk_devices *d)
{
	d->refs++;
	return d;
}

void disk_devices_unref(struct disk_devices *d)
{
	if (!d || --d->refs > 0)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].pods);
	free(d->v);
	free(d);
}

void disk_device_add_use(struct disk_device *d, const struct disk_use *u)
{
	if (d->npods >= DISK_PODS_MAX)
		return;
	d->pods = grown(d->pods, d->npods, sizeof(*d->pods));
	d->pods[d->npods++] = *u;
}

static bool rates_equal(const int64_t *a, const int64_t *b)
{
	return a[DISK_READ] == b[DISK_READ] && a[DISK_WRITE] == b[DISK_WRITE];
}

static bool device_equal(const struct disk_device *a, const struct disk_device *b)
{
	if (strcmp(a->name, b->name) != 0 || a->primary != b->primary ||
	    a->attributed != b->attributed || !rates_equal(a->capacity, b->capacity) ||
	    !rates_equal(a->used, b->used) || a->npods != b->npods)
		return false;
	for (size_t i = 0; i < a->npods; i++)
		if (a->pods[i].pod != b->pods[i].pod ||
		    !rates_equal(a->pods[i].rate, b->pods[i].rate))
			return false;
	return true;
}

bool disk_devices_equal(const struct disk_devices *a, const struct disk_devices *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!device_equal(&a->v[i], &b->v[i]))
			return false;
	return true;
}

/* FNV-1a. Uids are the API server's, so nobody chooses them to collide. */
uint64_t disk_hash(const char *text, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return h;
}

/* --- life ------------------------------------------------------------------------------------ */

struct disk_node *disk_node_new(struct disk_devices *devices)
{
	struct disk_node *n = sure(calloc(1, sizeof(*n)));

	n->devices = disk_devices_ref(devices);
	return n;
}

struct disk_node *disk_node_clone(const struct disk_node *n)
{
	struct disk_node *c = disk_node_new(n->devices);

	c->asking = copied(n->asking, n->nasking, sizeof(*n->asking));
	c->nasking = n->nasking;
	c->quiet = copied(n->quiet, n->nquiet, sizeof(*n->quiet));
	c->nquiet = n->nquiet;
	return c;
}

void disk_node_free(struct disk_node *n)
{
	if (!n)
		return;
	disk_devices_unref(n->devices);
	free(n->asking);
	free(n->quiet);
	free(n);
}

const struct disk_devices *disk_node_devices(const struct disk_node *n)
{
	return n->devices;
}

void disk_node_set_devices(struct disk_node *n, struct disk_devices *devices)
{
	struct disk_devices *old = n->devices;

	n->devices = disk_devices_ref(devices);
	disk_devices_unref(old);
}

/* --- pods ------------------------------------------------------------------------------------ */

void disk_node_add(struct disk_node *n, uint64_t pod, const struct disk_request *r)
{
	if (disk_request_is_any(r)) {
		n->asking = grown(n->asking, n->nasking, sizeof(*n->asking));
		n->asking[n->nasking++] = (struct asking){ .pod = pod, .request = *r };
	} else {
		n->quiet = grown(n->quiet, n->nquiet, sizeof(*n->quiet));
		n->quiet[n->nquiet++] = pod;
	}
}

/* Order means nothing: all that is read are sums and membership. */
bool disk_node_remove(struct disk_node *n, uint64_t pod)
{
	for (size_t i = 0; i < n->nasking; i++) {
		if (n->asking[i].pod == pod) {
			n->asking[i] = n->asking[--n->nasking];
			return true;
		}
	}
	for (size_t i = 0; i < n->nquiet; i++) {
		if (n->quiet[i] == pod) {
			n->quiet[i] = n->quiet[--n->nquiet];
			return true;
		}
	}
	return false;
}

size_t disk_node_pods(const struct disk_node *n)
{
	return n->nasking + n->nquiet;
}

/* --- what is left ---------------------------------------------------------------------------- */

const struct disk_device *disk_node_device(const struct disk_node *n, const struct disk_request *r)
{
	for (size_t i = 0; i < n->devices->n; i++) {
		const struct disk_device *d = &n->devices->v[i];

		if (r->device[0] ? strcmp(d->name, r->device) == 0 : d->primary)
			return d;
	}
	return NULL;
}

/* Saturates: requests are what people write. */
static int64_t sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t measured(const struct disk_device *d, uint64_t pod, enum disk_direction x)
{
	for (size_t i = 0; i < d->npods; i++)
		if (d->pods[i].pod == pod)
			return d->pods[i].rate[x];
	return 0;
}

static bool means(const struct disk_request *r, const struct disk_device *d)
{
	return r->device[0] ? strcmp(r->device, d->name) == 0 : d->primary;
}

/* Of pods that ask for something on this device; `use` adds what they use beyond it. */
static int64_t requests(const struct disk_node *n, const struct disk_device *d,
			enum disk_direction x, bool use)
{
	int64_t all = 0;

	for (size_t i = 0; i < n->nasking; i++) {
		const struct asking *a = &n->asking[i];
		int64_t want = means(&a->request, d) ? a->request.rate[x] : 0;

		all = sum(all, use ? larger(want, measured(d, a->pod, x)) : want);
	}
	return all;
}

static bool is_quiet(const struct disk_node *n, uint64_t pod)
{
	for (size_t i = 0; i < n->nquiet; i++)
		if (n->quiet[i] == pod)
			return true;
	return false;
}

/* Use that is told of pods without requests here, and what is told of no pod at all. */
static int64_t others(const struct disk_node *n, const struct disk_device *d, enum disk_direction x)
{
	int64_t quiet = 0, told = 0;

	for (size_t i = 0; i < d->npods; i++) {
		told = sum(told, d->pods[i].rate[x]);
		if (is_quiet(n, d->pods[i].pod))
			quiet = sum(quiet, d->pods[i].rate[x]);
	}
	return sum(quiet, larger(d->used[x] - told, 0));
}

int64_t disk_node_committed(const struct disk_node *n, const struct disk_device *d,
			    enum disk_direction x)
{
	if (!d->attributed)
		return larger(requests(n, d, x, false), d->used[x]);
	return sum(requests(n, d, x, true), others(n, d, x));
}

int64_t disk_node_available(const struct disk_node *n, const struct disk_device *d,
			    enum disk_direction x)
{
	return larger(d->capacity[x] - disk_node_committed(n, d, x), 0);
}

/* --- decisions ------------------------------------------------------------------------------- */

enum disk_verdict disk_node_fits(const struct disk_node *n, const struct disk_request *r)
{
	static const enum disk_verdict small[] = { DISK_READ_SMALL, DISK_WRITE_SMALL };
	static const enum disk_verdict full[] = { DISK_READ_FULL, DISK_WRITE_FULL };
	const struct disk_device *d = disk_node_device(n, r);

	if (!d)
		return DISK_NO_DEVICE;
	for (int x = DISK_READ; x < DISK_DIRECTIONS; x++)
		if (r->rate[x] > d->capacity[x])
			return small[x];
	for (int x = DISK_READ; x < DISK_DIRECTIONS; x++)
		if (r->rate[x] > 0 &&
		    r->rate[x] > disk_node_available(n, d, (enum disk_direction)x))
			return full[x];
	return DISK_FITS;
}

void disk_node_admit(const struct disk_node *n, const struct disk_request *r,
		     int64_t *ret_requested, int64_t *ret_available)
{
	const struct disk_device *d = disk_node_device(n, r);
	bool any = disk_request_is_any(r), found = false;

	*ret_requested = larger(r->rate[DISK_READ], r->rate[DISK_WRITE]);
	*ret_available = 0;
	for (int x = DISK_READ; d && x < DISK_DIRECTIONS; x++) {
		int64_t left = disk_node_available(n, d, (enum disk_direction)x);

		if (any && r->rate[x] == 0)
			continue;
		if (found && left - r->rate[x] >= *ret_available - *ret_requested)
			continue;
		*ret_requested = r->rate[x];
		*ret_available = left;
		found = true;
	}
}

int64_t disk_node_score(const struct disk_node *n, const struct disk_request *r)
{
	const struct disk_device *d = disk_node_device(n, r);
	int64_t asked = 0;
	double share = 0;

	for (int x = DISK_READ; d && x < DISK_DIRECTIONS; x++) {
		int64_t left;

		if (r->rate[x] == 0 || d->capacity[x] == 0)
			continue;
		left = disk_node_available(n, d, (enum disk_direction)x) - r->rate[x];
		share += (double)larger(left, 0) / (double)d->capacity[x];
		asked++;
	}
	return asked > 0 ? (int64_t)(share / (double)asked * 100) : 0;
}
