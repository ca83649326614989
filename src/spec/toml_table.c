/* Tables while they are read: what is in them, found quickly whatever the keys are, and what may
 * still be added. A table is complete once it was written as { … }; [a] and a.b = 1 may each
 * make a table once, and neither adds to what the other made.
 *
 * The entries of a table are looked up in a balanced search tree (an AA tree: Andersson,
 * "Balanced search trees made simple", 1993) because a hash table without a secret could be
 * filled with keys that all collide. */
#include "spec/toml_reader.h"

#include <stdio.h>
#include <string.h>

struct toml_node *toml_new_node(struct toml_reader *r, enum toml_type type, enum toml_made made,
				struct toml_pos pos, unsigned depth)
{
	struct toml_node *node = arena_alloc(r->arena, sizeof(*node));

	node->value.type = type;
	node->value.pos = pos;
	node->made = made;
	node->depth = depth;
	return node;
}

/* --- the search tree --- */

static int compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	if (a_len != b_len) {
		return a_len < b_len ? -1 : 1;
	}
	return a_len == 0 ? 0 : memcmp(a, b, a_len);
}

static struct toml_entry *find(const struct toml_node *table, const struct toml_part *part)
{
	uint32_t at = table->top;

	while (at != 0) {
		struct toml_entry *e = &table->value.u.table.v[at - 1];
		int order = compare(part->s, part->len, e->key, e->key_len);

		if (order == 0) {
			return e;
		}
		at = order < 0 ? table->links.v[at - 1].left : table->links.v[at - 1].right;
	}
	return NULL;
}

/* A left child of the same level becomes the parent. */
static uint32_t skew(struct toml_link *links, uint32_t at)
{
	struct toml_link *l = &links[at - 1];
	uint32_t left = l->left;

	if (left == 0 || links[left - 1].level != l->level) {
		return at;
	}
	l->left = links[left - 1].right;
	links[left - 1].right = at;
	return left;
}

/* Two right children of the same level in a row: the first one rises. */
static uint32_t split(struct toml_link *links, uint32_t at)
{
	struct toml_link *l = &links[at - 1];
	uint32_t right = l->right;

	if (right == 0 || links[right - 1].right == 0 ||
	    links[links[right - 1].right - 1].level != l->level) {
		return at;
	}
	l->right = links[right - 1].left;
	links[right - 1].left = at;
	links[right - 1].level++;
	return right;
}

/* Puts entry `fresh` into the tree at `at` and returns its new top. As deep as the tree, which is
 * at most twice the logarithm of its size. */
static uint32_t insert(struct toml_node *table, uint32_t at, uint32_t fresh)
{
	struct toml_link *links = table->links.v;
	const struct toml_entry *entries = table->value.u.table.v;

	if (at == 0) {
		return fresh;
	}
	const struct toml_entry *a = &entries[fresh - 1];
	const struct toml_entry *b = &entries[at - 1];
	if (compare(a->key, a->key_len, b->key, b->key_len) < 0) {
		links[at - 1].left = insert(table, links[at - 1].left, fresh);
	} else {
		links[at - 1].right = insert(table, links[at - 1].right, fresh);
	}
	return split(links, skew(links, at));
}

void toml_add(struct toml_reader *r, struct toml_node *table, const struct toml_part *part,
	      struct toml_value *value)
{
	struct toml_entry entry = {part->s, part->len, part->pos, value};
	struct toml_link link = {0, 0, 1};

	if (table->links.cap == 0) {
		/* Many tables hold one entry: 30,000 of them fit into 64 KiB of dotted keys. */
		table->links.v = arena_alloc(r->arena, sizeof(link));
		table->links.cap = 1;
		table->value.u.table.v = arena_alloc(r->arena, sizeof(entry));
		table->value.u.table.cap = 1;
	}
	ARENA_PUSH(r->arena, &table->value.u.table, entry);
	ARENA_PUSH(r->arena, &table->links, link);
	table->top = insert(table, table->top, (uint32_t)table->links.n);
}

/* --- what may be added where --- */

static struct toml_node *node_of(struct toml_value *value)
{
	/* Tables and arrays are always made by toml_new_node; the value is a node's first field. */
	return (struct toml_node *)value;
}

static struct toml_node *new_table(struct toml_reader *r, struct toml_node *parent,
				   const struct toml_part *part, enum toml_made made,
				   struct toml_pos pos)
{
	if (parent->depth >= TOML_DEPTH_MAX) {
		toml_fail(r, part->pos, "tables are nested deeper than %d", TOML_DEPTH_MAX);
		return NULL;
	}
	struct toml_node *node = toml_new_node(r, TOML_TABLE, made, pos, parent->depth + 1);
	toml_add(r, parent, part, &node->value);
	return node;
}

/* Part `i` of `key` should be a table to go into, but `entry` is none that may be added to. */
static void cannot_enter(struct toml_reader *r, const struct toml_key *key, size_t i,
			 const struct toml_entry *entry)
{
	const struct toml_value *value = entry->value;
	struct toml_pos pos = key->part[i].pos;
	char name[TOML_SHOW_MAX];

	toml_show_key(key, i + 1, name, sizeof(name));
	if (value->type == TOML_TABLE) {
		err_hint(toml_fail(r, pos,
				   "nothing can be added to the inline table \"%s\" of line %u",
				   name, entry->key_pos.line),
			 "write this key between its braces");
	} else if (value->type == TOML_ARRAY) {
		err_hint(toml_fail(r, pos, "\"%s\" is an array since line %u; no key can be added",
				   name, entry->key_pos.line),
			 "write this key inside one of its entries");
	} else {
		toml_fail(r, pos, "\"%s\" cannot hold keys: line %u gives it as %s", name,
			  entry->key_pos.line, toml_type_name(value->type));
	}
}

/* Part `i` of a header, not its last: the table to go on in. */
static struct toml_node *enter_by_header(struct toml_reader *r, struct toml_node *table,
					 const struct toml_key *key, size_t i, struct toml_pos pos)
{
	const struct toml_entry *entry = find(table, &key->part[i]);

	if (entry == NULL) {
		return new_table(r, table, &key->part[i], TOML_BY_PATH, pos);
	}
	if (entry->value->type == TOML_ARRAY && node_of(entry->value)->made == TOML_BY_AOT) {
		/* The entry that was opened last. */
		return node_of(entry->value->u.array.v[entry->value->u.array.n - 1]);
	}
	if (entry->value->type != TOML_TABLE || node_of(entry->value)->made == TOML_BY_VALUE) {
		cannot_enter(r, key, i, entry);
		return NULL;
	}
	return node_of(entry->value);
}

/* The last part of a header names something that is there and not only implied. */
static void header_clash(struct toml_reader *r, const struct toml_key *key, bool array,
			 const struct toml_entry *entry)
{
	const struct toml_value *value = entry->value;
	struct toml_pos pos = key->part[key->n - 1].pos;
	char name[TOML_SHOW_MAX];

	toml_show_key(key, key->n, name, sizeof(name));
	if (value->type == TOML_TABLE && node_of(entry->value)->made == TOML_BY_DOTS) {
		err_hint(toml_fail(r, pos,
				   "the table [%s] was already made by a dotted key on line %u",
				   name, value->pos.line),
			 "put all its keys under one header, or all in dotted form");
	} else if (value->type == TOML_TABLE && node_of(entry->value)->made != TOML_BY_VALUE) {
		struct err *err = toml_fail(r, pos, "the table [%s] was already given on line %u",
					    name, value->pos.line);
		if (array) {
			err_hint(err, "of several such tables, each is written as [[%s]]", name);
		} else {
			err_hint(err, "put its keys together under one header");
		}
	} else if (value->type == TOML_ARRAY && node_of(entry->value)->made == TOML_BY_AOT) {
		err_hint(toml_fail(r, pos, "\"%s\" is an array of tables since line %u", name,
				   value->pos.line),
			 "write [[%s]] for its next entry", name);
	} else {
		cannot_enter(r, key, key->n - 1, entry);
	}
}

/* [[key]]: one more entry. */
static struct toml_node *open_element(struct toml_reader *r, struct toml_node *parent,
				      const struct toml_key *key, struct toml_pos pos)
{
	const struct toml_part *last = &key->part[key->n - 1];
	const struct toml_entry *entry = find(parent, last);
	struct toml_node *array = NULL;

	if (entry == NULL) {
		if (parent->depth + 2 > TOML_DEPTH_MAX) {
			toml_fail(r, last->pos, "tables are nested deeper than %d", TOML_DEPTH_MAX);
			return NULL;
		}
		array = toml_new_node(r, TOML_ARRAY, TOML_BY_AOT, pos, parent->depth + 1);
		toml_add(r, parent, last, &array->value);
	} else if (entry->value->type == TOML_ARRAY && node_of(entry->value)->made == TOML_BY_AOT) {
		array = node_of(entry->value);
	} else {
		header_clash(r, key, true, entry);
		return NULL;
	}
	struct toml_node *node =
		toml_new_node(r, TOML_TABLE, TOML_BY_HEADER, pos, array->depth + 1);
	ARENA_PUSH(r->arena, &array->value.u.array, &node->value);
	return node;
}

struct toml_node *toml_open_header(struct toml_reader *r, const struct toml_key *key,
				   struct toml_pos pos, bool array)
{
	struct toml_node *table = r->root;

	for (size_t i = 0; i + 1 < key->n && table != NULL; i++) {
		table = enter_by_header(r, table, key, i, pos);
	}
	if (table == NULL) {
		return NULL;
	}
	if (array) {
		return open_element(r, table, key, pos);
	}
	const struct toml_part *last = &key->part[key->n - 1];
	struct toml_entry *entry = find(table, last);
	if (entry == NULL) {
		return new_table(r, table, last, TOML_BY_HEADER, pos);
	}
	if (entry->value->type != TOML_TABLE || node_of(entry->value)->made != TOML_BY_PATH) {
		header_clash(r, key, false, entry);
		return NULL;
	}
	node_of(entry->value)->made = TOML_BY_HEADER;
	entry->value->pos = pos;
	entry->key_pos = last->pos;
	return node_of(entry->value);
}

/* Part `i` of a dotted key, not its last: the table to go on in. */
static struct toml_node *enter_by_dots(struct toml_reader *r, struct toml_node *table,
				       const struct toml_key *key, size_t i)
{
	const struct toml_part *part = &key->part[i];
	const struct toml_entry *entry = find(table, part);
	char name[TOML_SHOW_MAX];

	if (entry == NULL) {
		return new_table(r, table, part, TOML_BY_DOTS, part->pos);
	}
	struct toml_node *node = node_of(entry->value);
	if (entry->value->type != TOML_TABLE || node->made == TOML_BY_VALUE) {
		cannot_enter(r, key, i, entry);
		return NULL;
	}
	if (node->made == TOML_BY_HEADER) {
		toml_show_key(key, i + 1, name, sizeof(name));
		err_hint(toml_fail(r, part->pos,
				   "the table \"%s\" has a header of its own on line %u", name,
				   entry->value->pos.line),
			 "put this key under that header");
		return NULL;
	}
	/* A table that only the path of a longer header implied belongs to the dotted key now. */
	if (node->made == TOML_BY_PATH) {
		node->made = TOML_BY_DOTS;
		entry->value->pos = part->pos;
	}
	return node;
}

struct toml_node *toml_place_key(struct toml_reader *r, struct toml_node *base,
				 const struct toml_key *key)
{
	struct toml_node *table = base;
	char name[TOML_SHOW_MAX];

	for (size_t i = 0; i + 1 < key->n; i++) {
		table = enter_by_dots(r, table, key, i);
		if (table == NULL) {
			return NULL;
		}
	}
	const struct toml_part *last = &key->part[key->n - 1];
	const struct toml_entry *entry = find(table, last);
	if (entry == NULL) {
		return table;
	}
	toml_show_key(key, key->n, name, sizeof(name));
	toml_fail(r, last->pos, "the key \"%s\" was already given on line %u", name,
		  entry->key_pos.line);
	return NULL;
}
