/* What holds between the keys of a spec, after file and flags have come together. Linear in the
 * number of entries: a spec of 64 KiB holds tens of thousands. */
#include "base/set.h"
#include "base/str.h"
#include "spec/spec_inner.h"

#include <stdio.h>
#include <string.h>

/* The normal forms of a value's entries. */
static struct str_set set_of(const struct spec_value *value, struct arena *arena)
{
	struct str_set set = {.n = 0};

	for (size_t i = 0; i < value->n; i++) {
		str_set_add(&set, arena, value->v[i].path);
	}
	return set;
}

/* --- tcp and hosts ------------------------------------------------------------------------ */

/* True when an entry of hosts covers this name or address. */
static bool host_allowed(const struct str_set *hosts, const char *host, bool address)
{
	if (str_set_has(hosts, host) || str_set_has(hosts, "*")) {
		return true;
	}
	if (address) {
		return false;
	}
	for (const char *dot = strchr(host, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		/* "*" and the rest from the dot on; names are at most 253 bytes. */
		char wildcard[256];

		snprintf(wildcard, sizeof(wildcard), "*%s", dot);
		if (str_set_has(hosts, wildcard)) {
			return true;
		}
	}
	return false;
}

static void tcp_refused(struct spec_reader *r, const struct spec_item *item)
{
	const struct spec_value *hosts = &r->spec.value[SPEC_INTERNET_HOSTS];
	struct err e;

	if (spec_errors_full(r)) {
		r->errs->total++;
		return;
	}
	err_set(&e, ERR_SPEC, 0, "%s is not among the hosts of [internet]", item->path);
	if (hosts->from.flag != NULL) {
		err_hint(&e, "add --host %s; flags of a key replace the file's", item->path);
	} else if (item->from.flag != NULL && r->input->file == NULL) {
		err_hint(&e, "add --host %s", item->path);
	} else {
		err_hint(&e,
			 "add \"%s\" to hosts: tcp only says which ports beside HTTPS and HTTP are "
			 "open",
			 item->path);
	}
	spec_report(r, &e, &item->from);
}

static void check_tcp(struct spec_reader *r)
{
	const struct spec_value *hosts = &r->spec.value[SPEC_INTERNET_HOSTS];
	const struct spec_value *tcp = &r->spec.value[SPEC_INTERNET_TCP];

	if (tcp->n == 0 || !hosts->set || r->broken_key[SPEC_INTERNET_HOSTS]) {
		return;
	}
	struct str_set set = set_of(hosts, r->arena);
	for (size_t i = 0; i < tcp->n; i++) {
		struct addr ignored;
		bool address = addr_parse(tcp->v[i].path, &ignored);

		if (!host_allowed(&set, tcp->v[i].path, address)) {
			tcp_refused(r, &tcp->v[i]);
		}
	}
}

/* --- ports and models --------------------------------------------------------------------- */

static void check_ports(struct spec_reader *r)
{
	const struct spec_value *ports = &r->spec.value[SPEC_LOCALHOST_PORTS];
	const struct spec_value *models = &r->spec.value[SPEC_LOCALHOST_MODELS];
	unsigned char seen[65536 / 8];

	if (ports->n == 0 || models->n == 0) {
		return;
	}
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < ports->n; i++) {
		size_t port = (size_t)ports->v[i].number;

		seen[port / 8] |= (unsigned char)(1U << (port % 8));
	}
	for (size_t i = 0; i < models->n; i++) {
		size_t port = (size_t)models->v[i].number;
		struct err e;

		if ((seen[port / 8] & (1U << (port % 8))) == 0) {
			continue;
		}
		err_set(&e, ERR_SPEC, 0, "port %zu is in ports and in models", port);
		err_hint(
			&e,
			"models lets inference through and nothing else, ports everything: keep it "
			"in one of them");
		spec_report(r, &e, &models->v[i].from);
	}
}

/* --- write_dot_files ---------------------------------------------------------------------- */

static void dot_files_refused(struct spec_reader *r, const struct spec_item *item)
{
	const struct spec_value *write = &r->spec.value[SPEC_FILES_WRITE];
	char shown[VALUE_SHOWN_MAX];
	struct err e;

	if (spec_errors_full(r)) {
		r->errs->total++;
		return;
	}
	err_set(&e, ERR_SPEC, 0, "%s is not an entry of write",
		value_shown(item->text, strlen(item->text), shown));
	for (size_t i = 0; i < write->n; i++) {
		if (path_within(item->path, write->v[i].path) ||
		    path_within(write->v[i].path, item->path)) {
			err_hint(&e,
				 "write_dot_files repeats folders of write as they stand there: "
				 "name %s, or add this one to write",
				 value_shown(write->v[i].text, strlen(write->v[i].text), shown));
			spec_report(r, &e, &item->from);
			return;
		}
	}
	if (item->from.flag != NULL) {
		err_hint(&e, "add --write %s", item->text);
	} else if (write->from.flag != NULL) {
		err_hint(&e, "--write replaces the file's write: give --write-dot-files, too");
	} else {
		err_hint(&e, "add it to write: write_dot_files only says where the dot files are "
			     "written, too");
	}
	spec_report(r, &e, &item->from);
}

static void check_dot_files(struct spec_reader *r)
{
	const struct spec_value *dots = &r->spec.value[SPEC_FILES_WRITE_DOT_FILES];

	if (dots->n == 0 || r->broken_key[SPEC_FILES_WRITE]) {
		return;
	}
	struct str_set set = set_of(&r->spec.value[SPEC_FILES_WRITE], r->arena);
	for (size_t i = 0; i < dots->n; i++) {
		if (!str_set_has(&set, dots->v[i].path)) {
			dot_files_refused(r, &dots->v[i]);
		}
	}
}

/* --- main keys ---------------------------------------------------------------------------- */

static bool has_main(const struct spec *spec, enum spec_section section)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section && spec_keys[k].main && spec->value[k].set) {
			return true;
		}
	}
	return false;
}

/* True when the table gives a main key on this system, itself or by its tables. */
static bool gives_main(const struct toml_value *table, enum spec_section section, unsigned os,
		       unsigned depth)
{
	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *e = &table->u.table.v[i];
		enum spec_key key = keys_find(section, e->key, e->key_len);

		if (key != SPEC_KEY_COUNT && spec_keys[key].main) {
			return true;
		}
		if (keys_find_os(e->key, e->key_len) == os && e->value->type == TOML_TABLE &&
		    depth < SPEC_OS_DEPTH_MAX && gives_main(e->value, section, os, depth + 1)) {
			return true;
		}
	}
	return false;
}

static void main_missing(struct spec_reader *r, enum spec_section s, const char *os)
{
	const struct origin *from = &r->spec.section[s];
	char main[64];
	struct err e;

	keys_main_text(s, main, sizeof(main));
	err_set(&e, ERR_SPEC, 0, "[%s] needs %s", spec_sections[s].name, main);
	if (from->flag != NULL) {
		for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
			if (spec_keys[k].section == s && spec_keys[k].main) {
				err_hint(&e, "give %s as well: without it there is nothing to open",
					 spec_keys[k].flag);
				break;
			}
		}
	} else if (os != NULL) {
		err_hint(&e, "no table gives it on %s: add it, or take the section out", os);
	} else {
		for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
			if (spec_keys[k].section == s && spec_keys[k].main) {
				err_hint(&e, "add a line like %s = %s, or take the section out",
					 spec_keys[k].name, spec_keys[k].example);
				break;
			}
		}
	}
	spec_report(r, &e, from);
}

static void check_sections(struct spec_reader *r)
{
	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		const struct toml_value *table = r->table[s];
		unsigned here = (unsigned)r->input->os;
		unsigned other = KEYS_OS_COUNT - 1 - here;

		if (has_main(&r->spec, s)) {
			r->spec.section_set[s] = true;
		} else if (r->broken_section[s]) {
			continue;
		} else if (r->own_keys[s]) {
			bool elsewhere = table != NULL && gives_main(table, s, other, 0);

			main_missing(r, s, elsewhere ? keys_os[here] : NULL);
		} else if (table != NULL && !gives_main(table, s, other, 0)) {
			/* Closed here, and it could not open anything there either. */
			main_missing(r, s, keys_os[other]);
		}
	}
}

void spec_check(struct spec_reader *r)
{
	check_sections(r);
	check_tcp(r);
	check_ports(r);
	check_dot_files(r);
}
