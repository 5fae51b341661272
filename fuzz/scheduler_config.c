/*
 * Any text as a scheduler's configuration. An accepted one is complete. A rejected one has an error
 * message and leaves the previous configuration unchanged.
 */
#include "scheduler/config/config.h"
#include "target.h"

static void check(const struct config *c)
{
	require(c->nprofiles > 0);
	require(c->initial_backoff_ms > 0 && c->max_backoff_ms >= c->initial_backoff_ms);
	require(c->percentage_of_nodes >= 0 && c->percentage_of_nodes <= 100);
	for (size_t i = 0; i < c->nprofiles; i++) {
		const struct config_profile *p = &c->profiles[i];

		require(p->name.n > 0);
		require(p->percentage_of_nodes >= 0 && p->percentage_of_nodes <= 100);
		for (size_t k = 0; k < p->nargs; k++)
			require(config_args(p, p->args[k].name) == p->args[k].args);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct error err = { 0 };

	config_init(&c);
	if (config_read(&c, str_of(data, size), &err) < 0)
		require(err.code == ERR_INVALID && err.msg[0]);
	check(&c);
	config_release(&c);
	return 0;
}
