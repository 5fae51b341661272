/*
 * The LMDB backend: the contract of all backends, with a committer of its own
 * and on the loop's thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/lmdb_world.h"

int main(void)
{
	const struct store_contract_backend *backends[] = { &lmdb_world_threaded,
							    &lmdb_world_inline, NULL };

	return store_contract_run_all("store/store_lmdb", backends);
}
