/*
 * Only the head of the line has a fixed form: the PCI place and the number. "pid=" and "name="
 * follow in most lines; some drivers quote the pid, or write <unknown>. The name ends at the next
 * comma: a process may choose any name, so it is for people only.
 */
#include "drivers/gpu_health/kmsg.h"

static bool kmsg_read_hex(struct str *s, size_t most, uint32_t *ret_value)
{
	uint32_t v = 0;
	size_t n = 0;

	while (n < s->n && n < most && str_hex_digit(s->p[n]) >= 0)
		v = v << 4 | (uint32_t)str_hex_digit(s->p[n++]);
	if (n == 0)
		return false;
	*s = str_skip(*s, n);
	*ret_value = v;
	return true;
}

static bool kmsg_skip(struct str *s, struct str prefix)
{
	if (!str_starts(*s, prefix))
		return false;
	*s = str_skip(*s, prefix.n);
	return true;
}

bool kmsg_pci_read(struct str text, struct kmsg_pci *ret_pci)
{
	struct kmsg_pci pci;
	uint32_t function;

	if (!kmsg_read_hex(&text, 8, &pci.domain) || !kmsg_skip(&text, STR(":")) ||
	    !kmsg_read_hex(&text, 2, &pci.bus) || !kmsg_skip(&text, STR(":")) ||
	    !kmsg_read_hex(&text, 2, &pci.device))
		return false;
	if (text.n > 0 && (!kmsg_skip(&text, STR(".")) || !kmsg_read_hex(&text, 1, &function)))
		return false;
	if (text.n > 0)
		return false;
	*ret_pci = pci;
	return true;
}

bool kmsg_pci_equal(const struct kmsg_pci *a, const struct kmsg_pci *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* "4,1181,3151213,-;": a priority, a number, a time and flags. */
static struct str kmsg_read_head(struct str line, struct kmsg_xid *x)
{
	ptrdiff_t end = str_chr(line, ';');
	struct str head, piece[3] = { STR_NULL };
	size_t n = 0;

	if (end < 0)
		return line;
	head = str_of(line.p, (size_t)end);
	while (n < ARRAY_SIZE(piece) && str_split(&head, ',', &piece[n]))
		n++;
	if (n < ARRAY_SIZE(piece) || !str_to_u64(piece[1], &x->seq) ||
	    !str_to_u64(piece[2], &x->at_us)) {
		x->seq = x->at_us = 0;
		return line;
	}
	return str_skip(line, (size_t)end + 1);
}

static struct str kmsg_unquote(struct str s)
{
	if (s.n >= 2 && s.p[0] == '\'' && s.p[s.n - 1] == '\'')
		return str_of(s.p + 1, s.n - 2);
	return s;
}

static void kmsg_read_rest(struct str rest, struct kmsg_xid *x)
{
	struct str piece, before;
	uint64_t pid;

	for (before = rest; str_split(&rest, ',', &piece); before = rest) {
		piece = str_trim(piece);
		if (kmsg_skip(&piece, STR("pid="))) {
			if (str_to_u64(kmsg_unquote(piece), &pid) && pid <= INT32_MAX)
				x->pid = (uint32_t)pid;
		} else if (kmsg_skip(&piece, STR("name="))) {
			piece = kmsg_unquote(piece);
			x->name = str_eqz(piece, "<unknown>") ? STR_NULL : piece;
		} else {
			break;
		}
	}
	x->detail = str_trim(before);
}

static bool kmsg_read_number(struct str *s, uint32_t *ret_value)
{
	size_t n = 0;
	uint64_t v;

	while (n < s->n && str_is_digit(s->p[n]))
		n++;
	if (!str_to_u64(str_of(s->p, n), &v) || v > UINT32_MAX)
		return false;
	*s = str_skip(*s, n);
	*ret_value = (uint32_t)v;
	return true;
}

bool kmsg_xid_read(struct str line, struct kmsg_xid *ret_xid)
{
	struct kmsg_xid x = { 0 };
	struct str s, place;

	/* Further lines of a record hold its properties. */
	(void)str_split(&line, '\n', &s);
	s = kmsg_read_head(str_trim_space(s), &x);
	if (!kmsg_skip(&s, STR("NVRM: Xid (")))
		return false;
	(void)kmsg_skip(&s, STR("PCI:"));
	if (!str_split(&s, ')', &place) || !kmsg_pci_read(place, &x.pci) ||
	    !kmsg_skip(&s, STR(": ")) || !kmsg_read_number(&s, &x.xid))
		return false;
	if (s.n > 0 && !kmsg_skip(&s, STR(",")))
		return false;
	if (s.n > 0)
		kmsg_read_rest(s, &x);
	*ret_xid = x;
	return true;
}
