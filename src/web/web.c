/*
 * Looking up: the page has a few dozen files, so the table is walked.
 */
#include "web/web_impl.h"

const struct web_file *web_find(struct str name)
{
	for (size_t i = 0; i < web_nfiles; i++)
		if (str_eq(web_files[i].name, name))
			return &web_files[i];
	return NULL;
}

const struct web_file *web_all(size_t *ret_n)
{
	*ret_n = web_nfiles;
	return web_files;
}
