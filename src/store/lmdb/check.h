/*
 * lmdb_check - the comparison of tables that store_lmdb_check() makes.
 */
#ifndef STORE_LMDB_CHECK_H
#define STORE_LMDB_CHECK_H

#include "store/lmdb/env.h"
#include "store/lmdb/tools.h"

/* Checks an environment that is open. Fills the report, which is released by the caller. */
int lmdb_check_env(const struct lmdb_env *e, struct store_lmdb_report *ret_report,
		   struct error *err);

#endif
