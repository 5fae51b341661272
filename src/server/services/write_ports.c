/*
 * A port is reserved when a try first takes it, until a try ends without it.
 */
#include "server/services/write_ports.h"

#include <string.h>

#include "base/core/compiler.h"
#include "server/services/services.h"

/* A dry run shows numbers that no service can have, as upstream's; the first is one higher. */
enum { SHOWN = 32768 };

void write_ports_init(struct write_ports *p, struct services *services, struct arena *arena,
		      bool dry_run)
{
	*p = (struct write_ports){ .services = services, .arena = arena, .dry_run = dry_run };
}

void write_ports_begin(struct write_ports *p, size_t n)
{
	p->used = p->lost = (struct port_set){ 0 };
	p->next_shown = SHOWN + 1;
	if (n > p->n) {
		uint16_t *more = arena_alloc(p->arena, n * sizeof(*more));

		memset(more, 0, n * sizeof(*more));
		for (size_t i = 0; i < p->n; i++)
			more[i] = p->chosen[i];
		p->chosen = more;
		p->n = n;
	}
}

static void give_back(struct write_ports *p, int64_t port, bool unknown)
{
	port_set_remove(&p->mine, port);
	if (p->dry_run)
		return;
	services_return_port(p->services, port);
	if (!port_set_has(&p->locked, port))
		return;
	port_set_remove(&p->locked, port);
	services_unlock_port(p->services, port, !unknown);
}

/* Returns those of `mine` that are not in `stay`. Most sets are nearly empty. */
static void give_back_but(struct write_ports *p, const struct port_set *stay, bool unknown)
{
	PORT_SET_FOREACH (port, &p->mine)
		if (!port_set_has(stay, port))
			give_back(p, port, unknown);
}

void write_ports_settle(struct write_ports *p)
{
	give_back_but(p, &p->used, false);
}

void write_ports_return(struct write_ports *p, bool unknown)
{
	p->used = (struct port_set){ 0 };
	give_back_but(p, &p->used, unknown);
}

bool write_ports_uses(const struct write_ports *p, int64_t port)
{
	return port_set_has(&p->used, port);
}

static void use(struct write_ports *p, int64_t port)
{
	if (!port_set_has(&p->mine, port) && !p->dry_run)
		services_reserve_port(p->services, port);
	port_set_add(&p->mine, port);
	port_set_add(&p->used, port);
}

bool write_ports_take(struct write_ports *p, int64_t port)
{
	bool mine = port_set_has(&p->mine, port) && !p->dry_run;

	if (!services_has_port(p->services, port) || write_ports_uses(p, port) ||
	    (!mine && services_is_port_taken(p->services, port)))
		return false;
	use(p, port);
	return true;
}

static int64_t next_shown(struct write_ports *p)
{
	while (p->next_shown <= PORT_SET_MAX && write_ports_uses(p, p->next_shown))
		p->next_shown++;
	return p->next_shown <= PORT_SET_MAX ? p->next_shown++ : 0;
}

int64_t write_ports_take_any(struct write_ports *p, size_t place)
{
	int64_t port = place < p->n ? p->chosen[place] : 0;

	if (p->dry_run)
		port = next_shown(p);
	else if (!port_set_has(&p->mine, port) || write_ports_uses(p, port))
		port = services_pick_port(p->services);
	if (!port)
		return 0;
	if (place < p->n)
		p->chosen[place] = (uint16_t)port;
	use(p, port);
	return port;
}

struct port_set write_ports_to_lock(struct write_ports *p)
{
	struct port_set set = { 0 };

	PORT_SET_FOREACH (port, &p->used) {
		if (port_set_has(&p->locked, port))
			continue;
		if (!services_is_port_recorded(p->services, port)) {
			port_set_add(&set, port);
			continue;
		}
		give_back(p, port, false);
		port_set_remove(&p->used, port);
		port_set_add(&p->lost, port);
	}
	return set;
}

void write_ports_locked(struct write_ports *p, const struct port_set *got)
{
	PORT_SET_FOREACH (port, got) {
		if (port_set_has(&p->mine, port))
			port_set_add(&p->locked, port);
		else
			services_unlock_port(p->services, port, true);
	}
}

bool write_ports_chose(const struct write_ports *p, size_t place, int64_t port)
{
	return place < p->n && p->chosen[place] == port;
}
