/*
 * A number is reserved when a try first takes it, and stays so until a try ends without it.
 */
#include "server/write_ports.h"

#include <string.h>

#include "base/compiler.h"
#include "server/services.h"

/* A dry run shows numbers that nobody can have, as upstream's: the first is one more. */
enum { SHOWN = 32768 };

void write_ports_init(struct write_ports *p, struct services *services, struct arena *arena,
		      bool dry_run)
{
	*p = (struct write_ports){ .services = services, .arena = arena, .dry_run = dry_run };
}

void write_ports_begin(struct write_ports *p, size_t n)
{
	p->used = (struct port_set){ 0 };
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

static void give_back(struct write_ports *p, int64_t port)
{
	port_set_remove(&p->mine, port);
	if (!p->dry_run)
		services_return_port(p->services, port);
}

/* Most sets are nearly empty: whole words are passed over. */
static void give_back_word(struct write_ports *p, size_t word, uint64_t bits)
{
	for (int i = 0; i < 64 && bits; i++)
		if (bits >> i & 1)
			give_back(p, (int64_t)word * 64 + i);
}

void write_ports_settle(struct write_ports *p)
{
	for (size_t i = 0; i < PORT_SET_WORDS; i++)
		if (p->mine.words[i] & ~p->used.words[i])
			give_back_word(p, i, p->mine.words[i] & ~p->used.words[i]);
}

void write_ports_return(struct write_ports *p)
{
	p->used = (struct port_set){ 0 };
	write_ports_settle(p);
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
