/* What a tool may be called with: every built-in rule, in the forms that options and words come in.
 * In the tables a call is words with spaces between; "~" stands for a space inside of a word, "^"
 * for an empty word. */
#include "base/str.h"
#include "broker/judge.h"
#include "broker/match.h"
#include "broker/profiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define WORDS_MAX 64

struct words {
	char text[2048];
	char *v[WORDS_MAX];
	int n;
};

static void split(const char *call, struct words *w)
{
	w->n = 0;
	assert_true(strlen(call) < sizeof(w->text));
	strcpy(w->text, call);
	for (char *s = strtok(w->text, " "); s != NULL; s = strtok(NULL, " ")) {
		assert_true(w->n < WORDS_MAX);
		for (char *c = s; *c != '\0'; c++) {
			*c = *c == '~' ? ' ' : *c;
		}
		w->v[w->n++] = str_eq(s, "^") ? s + 1 : s;
	}
}

/* Patterns with ";" between them. */
static void patterns(const char *tool, const char *text, struct arena *arena,
		     struct tool_list *list)
{
	char *copy = arena_strdup(arena, text != NULL ? text : "");
	struct err err;

	for (char *s = strtok(copy, ";"); s != NULL; s = strtok(NULL, ";")) {
		const char *pattern;

		if (!tool_pattern(tool, s, strlen(s), arena, &pattern, &err)) {
			fail_msg("pattern \"%s\": %s", s, err.msg);
		}
		ARENA_PUSH(arena, list, pattern);
	}
}

struct verdict {
	bool ok;
	struct tool_refusal refusal;
};

static struct verdict judge(const char *name, bool any, const char *allow, const char *deny,
			    const char *call)
{
	auto_arena struct arena arena = {NULL};
	struct tool tool = {
		.name = name, .program = "/usr/bin/x", .profile = profile_find(name), .any = any};
	struct verdict v;
	struct words w;

	patterns(name, allow, &arena, &tool.allow);
	patterns(name, deny, &arena, &tool.deny);
	split(call, &w);
	v.ok = tool_judge(&tool, w.n, w.v, &v.refusal);
	if (v.ok) {
		assert_string_equal(v.refusal.why, "");
	} else {
		assert_true(v.refusal.why[0] != '\0' && v.refusal.hint[0] != '\0');
	}
	return v;
}

static void expect_yes(const char *name, bool any, const char *allow, const char *deny,
		       const char *call)
{
	struct verdict v = judge(name, any, allow, deny, call);

	if (!v.ok) {
		fail_msg("%s %s: %s (%s)", name, call, v.refusal.why, v.refusal.hint);
	}
}

static void expect_no(const char *name, bool any, const char *allow, const char *deny,
		      const char *call, const char *says)
{
	struct verdict v = judge(name, any, allow, deny, call);
	char all[sizeof(v.refusal.why) + sizeof(v.refusal.hint) + 2];

	if (v.ok) {
		fail_msg("%s %s is allowed", name, call);
	}
	snprintf(all, sizeof(all), "%s\n%s", v.refusal.why, v.refusal.hint);
	if (strstr(all, says) == NULL) {
		fail_msg("%s %s: nothing of \"%s\" in: %s", name, call, says, all);
	}
}

/* By default, with the built-in rules alone. */
static const char *const allowed[][2] = {
	{"gh", ""},
	{"gh", "--version"},
	{"gh", "--help"},
	{"gh", "version"},
	{"gh", "pr view"},
	{"gh", "pr view 12"},
	{"gh", "pr view 12 --json url --jq .url"},
	{"gh", "pr view --json url -q.url"},
	{"gh", "pr list -R o/r"},
	{"gh", "pr ls"},
	{"gh", "-R o/r pr view 5"},
	{"gh", "-Ro/r pr view 5"},
	{"gh", "-R=o/r pr view 5"},
	{"gh", "--repo o/r pr view 5"},
	{"gh", "--repo=o/r pr view 5"},
	{"gh", "pr -R o/r view 5"},
	{"gh", "pr --repo=o/r view 5"},
	{"gh", "--repo=a/b pr --repo c/d view -R e/f"},
	{"gh", "pr view -- -x"},
	{"gh", "pr view some~branch"},
	{"gh", "pr list --search auth~token"},
	{"gh", "pr list --watch"},
	{"gh", "issue list --label ^"},
	{"gh", "run list -w build.yml"},
	{"gh", "run list --workflow=build.yml"},
	{"gh", "run view 1 --log"},
	{"gh", "search issues auth token"},
	{"gh", "auth status"},
	{"gh", "auth status --hostname github.com"},
	{"gh", "auth status -a"},
	{"gh", "repo view alias/set"},
	{"glab", "mr list"},
	{"glab", "-R g/p mr view 3"},
	{"glab", "auth status"},
	{"glab", "ci status"},
	{"git", ""},
	{"git", "status"},
	{"git", "--no-pager log -p -c --stat"},
	{"git", "-P log"},
	{"git", "-C sub/dir status"},
	{"git", "-C . status"},
	{"git", "-C sub -C deeper status"},
	{"git", "log --oneline --exclude=x --exit-code"},
	{"git", "log --output-indicator-new=+"},
	{"git", "log --no-ext-diff"},
	{"git", "diff --no-textconv --heads"},
	{"git", "fetch origin"},
	{"git", "fetch -p --tags origin main:main"},
	{"git", "fetch -u origin"},
	{"git", "fetch https://github.com/o/r"},
	{"git", "fetch --depth 1 git@github.com:o/r.git main"},
	{"git", "ls-remote ssh://git@[::1]/o/r"},
	{"git", "ls-remote --heads origin"},
	{"git", "commit -m ext::sh"},
	{"git", "commit -am fix --amend"},
	{"git", "add -A"},
	{"git", "stash show -p"},
	{"git", "grep -n -e open"},
	{"git", "checkout -b feature"},
	{"git", "merge --squash x"},
	{"git", "--version"},
	{"git", "-v"},
	{"npm", "view left-pad versions --json"},
	{"npm", "whoami"},
	{"npm", "search foo"},
	{"npm", "owner ls left-pad"},
	{"npm", "--json view left-pad"},
	{"docker", "ps -a --format {{.ID}}"},
	{"docker", "ps -H"},
	{"docker", "images"},
	{"docker", "logs -f c"},
	{"docker", "container ls"},
	{"docker", "context ls"},
	{"docker", "-l debug ps"},
	{"docker", "--log-level=info -D ps"},
	{"kubectl", "get pods"},
	{"kubectl", "get pods -A -w"},
	{"kubectl", "-n kube-system get pods -o wide"},
	{"kubectl", "--namespace=x get pods -ojson"},
	{"kubectl", "-nproxy get pods"},
	{"kubectl", "-n proxy get pods"},
	{"kubectl", "get -n exec pods"},
	{"kubectl", "get secretproviderclasses"},
	{"kubectl", "get pods -l app=secret"},
	{"kubectl", "get pod/secret-agent"},
	{"kubectl", "logs -f pod --tail=10"},
	{"kubectl", "version --client"},
	{"kubectl", "config view"},
	{"kubectl", "config view --minify"},
	{"kubectl", "config current-context"},
	{"kubectl", "cluster-info"},
	{"kubectl", "auth can-i get secrets"},
	{"aws", "sts get-caller-identity"},
	{"aws", "--region eu-west-1 ec2 describe-instances"},
	{"aws", "ec2 describe-instances --query x --output=json"},
	{"aws", "--output text ec2 --region us-east-1 describe-instances --filters a"},
	{"aws", "s3 ls s3://b"},
	{"aws", "iam list-users"},
	{"aws", "configure list"},
	{"aws", "logs tail /g"},
	{"gcloud", "projects list"},
	{"gcloud", "--project p compute instances list --format=json"},
	{"gcloud", "compute --project=p instances -q list"},
	{"gcloud", "auth list"},
	{"gcloud", "config get-value project"},
	{"gcloud", "logging read severity>=ERROR --limit 5"},
};

/* Refused by default. Some of it also when any argument is allowed: see closed. */
static const char *const refused[][3] = {
	{"gh", "pr merge 5", "--allow 'pr merge *'"},
	{"gh", "pr", "--allow 'pr *'"},
	{"gh", "-R o/r pr merge 5", "--allow 'pr merge *'"},
	{"gh", "PR view", "is not among"},
	{"gh", "pr~view", "is not among"},
	{"gh", "pr ^ view", "is not among"},
	{"gh", "^ pr view", "is not among"},
	{"gh", "-- pr view", "does not know the option --"},
	{"gh", "--frob pr view", "does not know the option --frob"},
	{"gh", "--frob=x pr view", "does not know the option --frob=x"},
	{"gh", "pr --frob view", "does not know the option --frob"},
	{"gh", "-xR o/r pr view", "does not know the option -xR"},
	{"gh", "-R", "is not among"},
	{"gh", "-R pr view", "is not among"},
	{"gh", "version x", "is not among"},
	{"gh", "gist create x", "--allow 'gist create *'"},
	{"gh", "co 1", "--allow 'co *'"},
	{"gh", "variable list", "is not among"},
	{"glab", "mr merge 5", "--allow 'mr merge *'"},
	{"git", "push", "--allow 'push *'"},
	{"git", "-C sub push", "--allow 'push *'"},
	{"git", "remote -v", "--allow 'remote *'"},
	{"git", "rebase main", "--allow 'rebase *'"},
	{"git", "-C /etc status", "leads out of the current folder"},
	{"git", "-C .. status", "leads out of the current folder"},
	{"git", "-C a/../.. status", "leads out of the current folder"},
	{"git", "-C a -C .. status", "leads out of the current folder"},
	{"git", "-C", "is not among"},
	{"git", "--frob status", "does not know the option --frob"},
	{"npm", "owner add x y", "--allow 'owner *'"},
	{"npm", "outdated", "--allow 'outdated *'"},
	{"docker", "stop c", "--allow 'stop *'"},
	{"kubectl", "delete pod x", "--allow 'delete *'"},
	{"kubectl", "cluster-info dump", "is not among"},
	{"kubectl", "rollout undo x", "is not among"},
	{"aws", "ec2 terminate-instances", "--allow 'ec2 terminate-instances *'"},
	{"aws", "s3 cp a b", "--allow 's3 cp *'"},
	{"aws", "describe-instances", "is not among"},
	{"gcloud", "compute instances delete list", "--allow 'compute instances delete *'"},
	{"gcloud", "frob list", "is not among"},
};

/* Refused whatever is allowed by a wide pattern, or by any. */
static const char *const closed[][3] = {
	/* T2, T5: gives away the login, or runs code outside. */
	{"gh", "auth token", "--allow 'auth token *'"},
	{"gh", "auth token --hostname github.com", "prints your login"},
	{"gh", "-R o/r auth token", "prints your login"},
	{"gh", "--frob auth token", "prints your login"},
	{"gh", "--frob x auth token", "prints your login"},
	{"gh", "--frob=x auth token", "prints your login"},
	{"gh", "-x -y auth token", "prints your login"},
	{"gh", "-- auth token", "prints your login"},
	{"gh", "auth --frob token", "prints your login"},
	{"gh", "auth --frob x token", "prints your login"},
	{"gh", "AUTH Token", "prints your login"},
	{"gh", "auth git-credential get", "prints your login"},
	{"gh", "auth login", "login"},
	{"gh", "auth frob", "--allow 'auth *'"},
	{"gh", "auth status -t", "prints your login"},
	{"gh", "auth status --show-token", "prints your login"},
	{"gh", "auth status --show-token=true", "prints your login"},
	{"gh", "auth status -at", "prints your login"},
	{"gh", "auth -t status", "your login"},
	{"gh", "alias set x !sh", "runs anything|run anything"},
	{"gh", "alias import -", "run anything"},
	{"gh", "extension install o/gh-x", "runs programs"},
	{"gh", "extensions exec x", "runs programs"},
	{"gh", "ext exec x", "runs programs"},
	{"gh", "config set pager sh", "programs to run"},
	{"gh", "config get -h github.com oauth_token", "settings"},
	{"gh", "api /user", "--allow 'api *'"},
	{"gh", "browse", "opens your browser"},
	{"gh", "codespace ssh", "runs ssh"},
	{"gh", "cs ssh", "runs ssh"},
	{"gh", "pr view -w", "opens your browser"},
	{"gh", "pr view --web", "--allow 'pr view --web *'"},
	{"gh", "pr view --web=true", "opens your browser"},
	{"gh", "pr view --we", "opens your browser"},
	{"gh", "pr view -cw", "opens your browser"},
	{"gh", "pr view 5 -- -w", "opens your browser"},
	{"gh", "pr --web view", "opens your browser"},
	{"gh", "pr create -w", "opens your browser"},
	{"gh", "run view -w", "opens your browser"},
	{"gh", "pr list --json url --jq env.GH_TOKEN", "variables"},
	{"gh", "pr list --json url --jq=$ENV.GH_TOKEN", "variables"},
	{"gh", "pr list --json url -qenv", "variables"},
	{"gh", "pr list --json url -q env|.GH_TOKEN", "variables"},
	{"gh", "pr list -Lq env", "variables|is allowed"},
	{"git", "clone https://github.com/o/r", "can write meanwhile"},
	{"gh", "repo clone o/r -- --upload-pack=x", "names a program"},
	{"gh", "repo clone o/r -- -c core.sshCommand=x", "settings"},
	{"gh", "repo clone o/r -- --config=x", "settings"},
	{"gh", "repo fork o/r --clone -- --template=x", "hooks"},
	{"gh", "ssh-key add k", "log in"},
	{"glab", "auth status -t", "prints your login"},
	{"glab", "auth status --show-token", "prints your login"},
	{"glab", "config get token", "login"},
	{"glab", "alias set x !sh", "run anything"},
	{"glab", "api user", "login"},
	{"glab", "mr view 3 --web", "browser"},
	{"glab", "mcp serve", "login"},
	{"glab", "token create", "login"},
	/* T3: git. */
	{"git", "-c core.sshCommand=sh status", "--allow '-c core.sshCommand=sh *'|settings"},
	{"git", "-ccore.pager=sh log", "settings"},
	{"git", "-P -c alias.x=!sh x", "settings"},
	{"git", "--frob -c a=b log", "settings"},
	{"git", "--frob x -c a=b log", "settings|alias"},
	{"git", "-C sub -c a=b log", "settings"},
	{"git", "-Pc a=b log", "settings"},
	{"git", "--config-env=core.pager=X log", "settings"},
	{"git", "--config-env core.pager=X log", "settings"},
	{"git", "--exec-path=/tmp status", "folder of programs"},
	{"git", "-p log", "pager"},
	{"git", "--paginate log", "pager"},
	{"git", "--git-dir=x status", "settings"},
	{"git", "--git-dir x status", "settings"},
	{"git", "--work-tree=/ status", "folder"},
	{"git", "--help log", "other programs"},
	{"git", "-h log", "other programs"},
	{"git", "log --help", "other programs"},
	{"git", "help log", "other programs"},
	{"git", "help -w log", "other programs"},
	{"git", "fetch --upload-pack=x", "--allow 'fetch --upload-pack=* *'"},
	{"git", "fetch --upload-pack x", "--allow 'fetch --upload-pack *'"},
	{"git", "fetch --upload-p=x", "names a program"},
	{"git", "fetch --up x", "names a program"},
	{"git", "fetch origin --upload-pack=x", "names a program"},
	{"git", "fetch -- --upload-pack=x", "names a program"},
	{"git", "fetch -o -- --upload-pack=x", "names a program"},
	{"git", "push --receive-pack=x", "names a program"},
	{"git", "push --exec=x", "names a program"},
	{"git", "push --rec x", "names a program"},
	{"git", "ls-remote --exec=x", "names a program"},
	{"git", "ls-remote -u x", "names a program"},
	{"git", "ls-remote --get-url", "login"},
	{"git", "clone -u x url", "names a program"},
	{"git", "clone -ux url", "names a program|of its own"},
	{"git", "clone -qu x url", "names a program|of its own"},
	{"git", "clone -c core.fsmonitor=x url", "settings"},
	{"git", "clone --config core.fsmonitor=x url", "settings"},
	{"git", "clone --template=x url", "hooks"},
	{"git", "clone ext::sh~-c~x", "runs a command"},
	{"git", "clone EXT::sh", "runs a command"},
	{"git", "fetch ext::sh", "--allow 'fetch ext::sh *'"},
	{"git", "fetch --foo=ext::sh", "runs a command"},
	{"git", "fetch fd::17", "descriptors"},
	{"git", "clone file:///etc", "another repository"},
	{"git", "clone ssh://-oProxyCommand=x/y", "option of ssh"},
	{"git", "grep -O x", "names a program"},
	{"git", "grep -Oless x", "of its own|names a program"},
	{"git", "grep -nO x", "of its own|names a program"},
	{"git", "grep --open-files-in-pager=sh x", "names a program"},
	{"git", "grep --open x", "names a program"},
	{"git", "log --output=/x", "writes files"},
	{"git", "log --output /x", "writes files"},
	{"git", "diff --outp=/x", "writes files"},
	{"git", "format-patch --output-directory=/x", "writes files"},
	{"git", "log --ext-diff", "runs a program"},
	{"git", "config --list", "settings"},
	{"git", "config alias.x !sh", "settings"},
	{"git", "difftool", "programs"},
	{"git", "mergetool", "programs"},
	{"git", "rebase -x make", "runs a command"},
	{"git", "rebase --exec make", "names a program"},
	{"git", "rebase -i", "commands"},
	{"git", "bisect run sh", "runs a command"},
	{"git", "submodule foreach sh", "commands"},
	{"git", "submodule update", "commands"},
	{"git", "filter-branch --tree-filter x", "runs commands"},
	{"git", "daemon", "serves"},
	{"git", "credential fill", "prints your login"},
	{"git", "credential-store get", "prints your login"},
	{"git", "credential-cache get", "prints your login"},
	{"git", "remote-ext a b", "helper"},
	{"git", "web--browse x", "other programs"},
	{"git", "send-email x", "programs"},
	{"git", "merge -s ../x y", "names a program"},
	{"git", "pull --strategy=x", "names a program"},
	{"git", "commit --trailer x", "runs commands"},
	{"git", "add -p", "runs a program"},
	{"git", "add --patch", "runs a program"},
	{"git", "commit -p", "runs a program"},
	{"git", "frob", "an alias may run any program"},
	{"git", "-P frob", "an alias may run any program"},
	{"git", "Status", "an alias may run any program"},
	{"git", "^", "an alias may run any program"},
	{"git", "maintenance start", "certain times"},
	{"npm", "exec x", "runs programs"},
	{"npm", "x y", "runs programs"},
	{"npm", "run build", "scripts"},
	{"npm", "run-script build", "scripts"},
	{"npm", "runScript build", "scripts"},
	{"npm", "run-s build", "scripts"},
	{"npm", "urn build", "scripts"},
	{"npm", "test", "scripts"},
	{"npm", "install", "scripts"},
	{"npm", "i x", "scripts"},
	{"npm", "insta x", "scripts"},
	{"npm", "ci", "scripts"},
	{"npm", "publish", "scripts"},
	{"npm", "publ", "scripts"},
	{"npm", "token list", "logins"},
	{"npm", "toke list", "logins"},
	{"npm", "login", "login"},
	{"npm", "config get //r/:_authToken", "login|settings"},
	{"npm", "c ls", "settings"},
	{"npm", "--registry=http://x view y", "another registry"},
	{"npm", "view y --registry http://x", "another registry"},
	{"npm", "view y --reg http://x", "another registry"},
	{"npm", "view y -registry http://x", "another registry"},
	{"npm", "view y ---registry=http://x", "another registry"},
	{"npm", "view y --@a:registry=http://x", "another registry"},
	{"npm", "view y --//x/:_authToken=${T}", "login"},
	{"npm", "view y --git=x", "names a program"},
	{"npm", "view y --node-options=x", "names a program"},
	{"npm", "view y --no-strict-ssl", "listen"},
	{"npm", "view y --https-proxy=x", "listen"},
	{"npm", "view y --https_proxy=x", "listen"},
	{"npm", "view y --userconfig=x", "settings"},
	{"docker", "run -v /:/x i", "root"},
	{"docker", "exec c sh", "root"},
	{"docker", "cp a b", "root"},
	{"docker", "build .", "root"},
	{"docker", "compose up", "root"},
	{"docker", "container run i", "root"},
	{"docker", "-D container exec c sh", "root"},
	{"docker", "volume create x", "root"},
	{"docker", "inspect c", "logins"},
	{"docker", "top c e", "variables"},
	{"docker", "context use x", "machine"},
	{"docker", "-H tcp://x ps", "another machine"},
	{"docker", "-Htcp://x ps", "another machine|of its own"},
	{"docker", "--host=x ps", "another machine"},
	{"docker", "-c x ps", "another machine"},
	{"docker", "--config x ps", "settings"},
	{"docker", "-DH tcp://x ps", "another machine|of its own"},
	{"kubectl", "config view --raw", "prints your login"},
	{"kubectl", "config view --raw=true", "prints your login"},
	{"kubectl", "config --raw view", "prints your login"},
	{"kubectl", "config view --flatten", "prints your login"},
	{"kubectl", "config set-context x", "settings"},
	{"kubectl", "exec p -- sh", "runs programs"},
	{"kubectl", "-n x exec p", "runs programs"},
	{"kubectl", "--frob x exec p", "runs programs"},
	{"kubectl", "cp p:x y", "writes files"},
	{"kubectl", "proxy", "every program"},
	{"kubectl", "port-forward p 80", "every program"},
	{"kubectl", "plugin list", "other programs"},
	{"kubectl", "create token x", "login"},
	{"kubectl", "get secret", "secrets"},
	{"kubectl", "get secrets -o yaml", "secrets"},
	{"kubectl", "get Secrets", "secrets"},
	{"kubectl", "get secret/x", "secrets"},
	{"kubectl", "get secrets.v1. x", "secrets"},
	{"kubectl", "get pods,secrets", "secrets"},
	{"kubectl", "get secrets,pods", "secrets"},
	{"kubectl", "get pods,secret,svc", "secrets"},
	{"kubectl", "get -n default secret", "secrets"},
	{"kubectl", "describe secret x", "secrets"},
	{"kubectl", "get --raw /api/v1/secrets", "secrets"},
	{"kubectl", "get -f x.yaml", "file"},
	{"kubectl", "get --filename=x.yaml", "file"},
	{"kubectl", "get pods -o go-template-file=/home/u/.kube/config", "file of yours"},
	{"kubectl", "get pods -o=jsonpath-file=x", "file of yours"},
	{"kubectl", "get pods -ocustom-columns-file=x", "file of yours"},
	{"kubectl", "get pods -o templatefile --template=x", "file of yours"},
	{"kubectl", "--server=https://x get pods", "another machine"},
	{"kubectl", "-s https://x get pods", "another machine"},
	{"kubectl", "get pods -s https://x", "another machine"},
	{"kubectl", "get pods -As https://x", "another machine|of its own"},
	{"kubectl", "get pods --insecure-skip-tls-verify", "listen"},
	{"kubectl", "get pods --insecure_skip_tls_verify", "listen"},
	{"kubectl", "--kubeconfig x get pods", "settings"},
	{"kubectl", "get pods -v=9", "login"},
	{"kubectl", "get pods -v 9", "login"},
	{"kubectl", "get pods --v=9", "login"},
	{"kubectl", "get pods --as=admin", "somebody else"},
	{"kubectl", "get pods --token x", "another login"},
	{"aws", "configure export-credentials", "prints your login"},
	{"aws", "configure get aws_secret_access_key", "prints your login"},
	{"aws", "configure set x y", "login"},
	{"aws", "sts get-session-token", "login"},
	{"aws", "sts assume-role --role-arn x", "login"},
	{"aws", "ecr get-login-password", "login"},
	{"aws", "--region x ecr get-login-password", "login"},
	{"aws", "rds generate-db-auth-token", "login"},
	{"aws", "ecr get-authorization-token", "login"},
	{"aws", "codecommit credential-helper get", "login"},
	{"aws", "secretsmanager get-secret-value", "secrets"},
	{"aws", "ssm get-parameters-by-path", "secrets"},
	{"aws", "iam create-access-key", "logins"},
	{"aws", "s3 presign s3://b/k", "login"},
	{"aws", "ec2 describe-instances --filters file:///home/u/.aws/credentials",
	 "file of yours"},
	{"aws", "ec2 describe-instances --filters=file://x", "file of yours"},
	{"aws", "ec2 describe-instances --filters a@=fileb://x", "file of yours"},
	{"aws", "--profile prod ec2 describe-instances", "another login"},
	{"aws", "ec2 describe-instances --prof prod", "another login"},
	{"aws", "ec2 describe-instances --endpoint-url http://x", "another machine"},
	{"aws", "ec2 describe-instances --debug", "login"},
	{"aws", "ec2 describe-instances --no-verify-ssl", "listen"},
	{"gcloud", "auth print-access-token", "prints your login"},
	{"gcloud", "--project p auth print-access-token", "prints your login"},
	{"gcloud", "beta auth print-identity-token", "prints your login"},
	{"gcloud", "auth application-default print-access-token", "login"},
	{"gcloud", "config config-helper", "prints your login"},
	{"gcloud", "config set x y", "settings"},
	{"gcloud", "secrets versions access 1", "secrets"},
	{"gcloud", "compute ssh list", "ssh"},
	{"gcloud", "components install x", "installs"},
	{"gcloud", "interactive", "shell"},
	{"gcloud", "projects list --flags-file=x", "file"},
	{"gcloud", "projects list --account x", "another login"},
	{"gcloud", "projects list --impersonate-service-account=x", "somebody else"},
	{"gcloud", "projects list --imp x", "somebody else"},
	{"gcloud", "projects list --log-http", "login"},
};

static void default_allows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		expect_yes(allowed[i][0], false, NULL, NULL, allowed[i][1]);
		expect_yes(allowed[i][0], true, NULL, NULL, allowed[i][1]);
	}
}

static void default_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		expect_no(refused[i][0], false, NULL, NULL, refused[i][1], refused[i][2]);
	}
}

/* One of several texts with "|" between them; "is allowed" among them: may be that too. */
static void expect_closed(const char *name, bool any, const char *allow, const char *call,
			  const char *texts)
{
	struct verdict v = judge(name, any, allow, NULL, call);
	char all[sizeof(v.refusal.why) + sizeof(v.refusal.hint) + 2];
	char copy[256];

	if (v.ok && strstr(texts, "is allowed") != NULL) {
		return;
	}
	if (v.ok) {
		fail_msg("%s %s is allowed (any %d, %s)", name, call, any, allow);
	}
	snprintf(all, sizeof(all), "%s\n%s", v.refusal.why, v.refusal.hint);
	snprintf(copy, sizeof(copy), "%s", texts);
	for (char *s = strtok(copy, "|"); s != NULL; s = strtok(NULL, "|")) {
		if (strstr(all, s) != NULL) {
			return;
		}
	}
	fail_msg("%s %s: nothing of \"%s\" in: %s", name, call, texts, all);
}

static void closed_stays_closed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(closed); i++) {
		expect_closed(closed[i][0], false, NULL, closed[i][1], closed[i][2]);
		expect_closed(closed[i][0], true, NULL, closed[i][1], closed[i][2]);
		expect_closed(closed[i][0], true, "* x *;* * y *", closed[i][1], closed[i][2]);
	}
}

/* The command that a refusal names makes the call allowed. */
static void hints_hold(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(closed) + ARRAY_LEN(refused); i++) {
		const char *const *row =
			i < ARRAY_LEN(closed) ? closed[i] : refused[i - ARRAY_LEN(closed)];
		struct verdict v = judge(row[0], false, NULL, NULL, row[1]);
		const char *quoted = strstr(v.refusal.hint, "--allow '");
		char pattern[256];
		char also[1024] = "";

		/* A call may break several rules: one after the other is named. */
		for (size_t n = 0; !v.ok && quoted != NULL && n < 4; n++) {
			snprintf(pattern, sizeof(pattern), "%s", quoted + strlen("--allow '"));
			*strchr(pattern, '\'') = '\0';
			assert_true(strlen(also) + strlen(pattern) + 2 < sizeof(also));
			strcat(strcat(also, ";"), pattern);
			v = judge(row[0], false, also, NULL, row[1]);
			quoted = strstr(v.refusal.hint, "--allow '");
			tried++;
		}
		if (!v.ok && quoted != NULL) {
			fail_msg("%s %s: with %s: %s", row[0], row[1], also, v.refusal.why);
		}
	}
	assert_true(tried > 150);
}

static void named_is_open(void **state)
{
	static const char *const cases[][3] = {
		{"gh", "auth token *", "auth token"},
		{"gh", "auth token *", "-R o/r auth token --hostname x"},
		{"gh", "auth token", "auth token"},
		{"gh", "alias set *", "alias set x !sh"},
		{"gh", "alias *", "alias set x !sh"},
		{"gh", "api *", "api /user"},
		{"gh", "api repos/*", "api repos/o/r"},
		{"gh", "pr view --web *", "pr view --web"},
		{"gh", "pr view --web *", "-R o/r pr view --web 5"},
		{"gh", "pr list --json * --jq *", "pr list --json url --jq env"},
		{"gh", "auth status -t", "auth status -t"},
		{"gh", "pr merge * --repo o/r", "pr merge 1 --repo o/r"},
		{"gh", "pr merge --repo o/r *", "pr merge --repo o/r 1 -d --squash"},
		{"gh", "pr merge --squash *", "-R o/r pr merge --squash 1 --repo x/y"},
		{"git", "-c core.pager=cat log *", "-c core.pager=cat log"},
		{"git", "-c core.pager=* log *", "-c core.pager=less log -p"},
		{"git", "fetch --upload-pack=* *", "fetch --upload-pack=x origin"},
		{"git", "clone ext::* *", "clone ext::sh~-c"},
		{"git", "lfs *", "lfs pull"},
		{"git", "submodule update *", "submodule update --init"},
		{"git", "submodule *", "submodule update --init"},
		{"git", "bisect run *", "bisect run make"},
		{"kubectl", "config view --raw *", "config view --raw"},
		{"kubectl", "get secret *", "get secret x"},
		{"kubectl", "get secrets", "-n x get secrets"},
		{"aws", "ecr get-login-password *", "ecr get-login-password"},
		{"aws", "--profile dev * describe-* *", "--profile dev ec2 describe-instances"},
		{"docker", "run *", "run i"},
		{"npm", "install *", "install"},
		{"gcloud", "auth print-access-token *", "auth print-access-token"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_yes(cases[i][0], false, cases[i][1], NULL, cases[i][2]);
		expect_yes(cases[i][0], true, cases[i][1], NULL, cases[i][2]);
	}
}

/* A pattern that says which repository means that one: the last of several would count. */
static void named_values_stand_alone(void **state)
{
	static const char *const cases[][3] = {
		{"gh", "pr merge * --repo o/r", "pr merge 1 --repo o/r --repo x/y"},
		{"gh", "pr merge * --repo o/r", "--repo x/y pr merge 1 --repo o/r"},
		{"gh", "pr merge * --repo o/r", "pr -R x/y merge 1 --repo o/r"},
		{"gh", "pr merge --repo o/r *", "pr merge --repo o/r 1 --repo=x/y"},
		{"gh", "pr merge --repo=o/r *", "pr merge --repo=o/r 1 -Rx/y"},
		{"gh", "pr merge -R o/r *", "pr merge -R o/r 1 --rep x/y"},
		{"gh", "pr merge -R o/r *", "pr merge -R o/r -dR x/y"},
		{"kubectl", "delete pod * -n dev", "-n prod delete pod x -n dev"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_no(cases[i][0], false, cases[i][1], NULL, cases[i][2], "");
	}
}

/* Near misses: a wider pattern, or another, does not name it. */
static void not_named_is_closed(void **state)
{
	static const char *const cases[][3] = {
		{"gh", "auth *", "auth token"},
		{"gh", "auth t*", "auth token"},
		{"gh", "* token *", "auth token"},
		{"gh", "auth tok*n *", "auth token"},
		{"gh", "auth status *", "auth token"},
		{"gh", "pr *", "pr view --web"},
		{"gh", "pr view * *", "pr view --web"},
		{"gh", "pr view --web", "pr view --web 5"},
		{"gh", "pr view --web *", "pr view 5 --web"},
		{"gh", "pr view -* *", "pr view --web"},
		{"gh", "pr list --jq* *", "pr list -q env"},
		{"git", "fetch *", "fetch --upload-pack=x"},
		{"git", "fetch * *", "fetch ext::sh"},
		{"git", "fetch *:* *", "fetch ext::sh"},
		{"git", "fetch --upload-pack=* *", "fetch origin --upload-pack=x"},
		{"git", "log *", "-c a=b log"},
		{"git", "-c core.pager=cat log *", "-c core.pager=sh log"},
		{"git", "-c core.pager=cat log *", "-c core.pager=cat -c core.pager=sh log"},
		{"git", "* *", "frob x"},
		{"kubectl", "config *", "config view --raw"},
		{"kubectl", "get *", "get secrets"},
		{"aws", "* *", "ecr get-login-password"},
		{"aws", "ecr *", "ecr get-login-password"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		/* "* *" is every call, which cannot be written down; the rest of it can. */
		if (str_eq(cases[i][1], "* *")) {
			continue;
		}
		expect_no(cases[i][0], false, cases[i][1], NULL, cases[i][2], "");
		expect_no(cases[i][0], true, cases[i][1], NULL, cases[i][2], "");
	}
}

static void patterns_of_an_unknown_tool(void **state)
{
	static const struct {
		const char *allow, *call;
		bool ok;
	} cases[] = {
		{"plan", "plan", true},
		{"plan", "plan x", false},
		{"plan", "", false},
		{"plan *", "plan", true},
		{"plan *", "plan -x --y=z w", true},
		{"plan *", "plan2", false},
		{"plan *", "-v plan", false},
		{"-v plan *", "-v plan x", true},
		{"-v * plan *", "-v 3 plan", true},
		{"-v * plan *", "-v -x plan", false},
		{"a* b", "abc b", true},
		{"a* b", "a b", true},
		{"a* b", "a c b", false},
		{"*c b", "abc b", true},
		{"a*c*e", "abcde", true},
		{"a*c*e", "ace", true},
		{"a*c*e", "acef", false},
		{"a**e", "ae", true},
		{"* b", "a b", true},
		{"* b", "-a b", false},
		{"* b", "b", false},
		{"* b", "^ b", true},
		{"x *", "x ^", true},
		{"x", "x ^", false},
		{"get *~b", "get a~b", false},
		{"get *", "get a~b", true},
		{"get a*b", "get a~~b", true},
		{"x ?", "x a", false},
		{"x [a-z]", "x b", false},
		{"x [a-z]", "x [a-z]", true},
		{"a|b c", "a c", false},
		{"a|b c", "a|b c", true},
		{"x \\*", "x *", false},
		{"x --opt=*", "x --opt=y", true},
		{"x --opt=*", "x --opt", false},
		{"x -", "x -", true},
		{"x *", "x -", true},
		{"* y", "- y", true},
		{"X", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict v;

		if (strchr(cases[i].allow, '~') != NULL) {
			continue;
		}
		v = judge("terraform", false, cases[i].allow, NULL, cases[i].call);
		if (v.ok != cases[i].ok) {
			fail_msg("allow '%s', call '%s': %d %s", cases[i].allow, cases[i].call,
				 v.ok, v.refusal.why);
		}
	}
	expect_yes("terraform", true, NULL, NULL, "anything -c --at all");
	expect_yes("terraform", true, NULL, NULL, "");
	expect_no("terraform", false, "plan *", NULL, "apply -x", "--allow 'apply *'");
	expect_no("terraform", false, "plan *", NULL, "a/b", "lnk sandbox tool show terraform");
	expect_no("terraform", false, "plan *", NULL, "-chdir=x plan", "does not know the option");
}

static void deny_beats_all(void **state)
{
	static const struct {
		const char *tool, *deny, *call;
		bool ok;
	} cases[] = {
		{"gh", "pr view", "pr view 5", false},
		{"gh", "pr view *", "pr view", false},
		{"gh", "pr *", "pr list", false},
		{"gh", "pr *", "issue list", true},
		{"gh", "pr view", "pr list", true},
		{"gh", "pr view", "pr list view", true},
		{"gh", "pr view", "-R o/r pr view", false},
		{"gh", "pr view", "pr -R o/r view", false},
		{"gh", "pr view", "PR View", false},
		{"gh", "auth status", "auth status", false},
		{"terraform", "apply", "apply", false},
		{"terraform", "apply", "-x apply", false},
		{"terraform", "apply", "-x y apply", false},
		{"terraform", "apply", "-x=y apply", false},
		{"terraform", "apply", "-x=y z apply", true},
		{"terraform", "apply", "x apply", true},
		{"terraform", "a b", "a -x b", false},
		{"terraform", "a b", "a -x y b", false},
		{"terraform", "a b", "a x b", true},
		{"terraform", "a b", "a --x y z b", true},
		{"terraform", "-x", "a -x", true},
		{"terraform", "a -x", "a -x", false},
		{"terraform", "a -x", "a -y -x", false},
		{"terraform", "a * c", "a b c", false},
		{"terraform", "a b*", "a bcd", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict v =
			judge(cases[i].tool, true, cases[i].deny, cases[i].deny, cases[i].call);

		if (v.ok != cases[i].ok) {
			fail_msg("%s deny '%s', call '%s': %d %s", cases[i].tool, cases[i].deny,
				 cases[i].call, v.ok, v.refusal.why);
		}
	}
	expect_no("gh", false, NULL, "pr view", "pr view 5", "gh pr view is denied");
}

/* Hostile text comes out printable, on one line, and cut. */
static void messages_are_printable(void **state)
{
	static const char *const calls[] = {
		"\x1b[2Jx", "pr\nview", "--we\x1b[0m", "\xff\xfe", "pr \xe2\x80\xae.evil",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct verdict v = judge("gh", false, NULL, NULL, calls[i]);

		assert_false(v.ok);
		for (const char *c = v.refusal.why; *c != '\0'; c++) {
			assert_true((unsigned char)*c >= 0x20);
		}
		for (const char *c = v.refusal.hint; *c != '\0'; c++) {
			assert_true((unsigned char)*c >= 0x20);
		}
	}
	char *huge = malloc(200001);
	assert_non_null(huge);
	memset(huge, 'a', 200000);
	huge[200000] = '\0';
	struct tool tool = {.name = "gh", .profile = profile_find("gh")};
	struct tool_refusal refusal;
	char *argv[] = {huge, huge};
	assert_false(tool_judge(&tool, 2, argv, &refusal));
	assert_true(strlen(refusal.why) < 300);
	free(huge);
}

/* A call of two million bytes is judged at once, whatever it is made of. */
static void long_calls(void **state)
{
	static const char *const fillers[] = {"-a", "a", "-a=b", "--aaaa", "--", "-", "--web"};
	static const char *const tools[] = {"gh", "git", "kubectl", "npm", "terraform"};
	size_t n = 600000;
	char **argv = calloc(n, sizeof(*argv));

	(void)state;
	assert_non_null(argv);
	for (size_t t = 0; t < ARRAY_LEN(tools); t++) {
		for (size_t f = 0; f < ARRAY_LEN(fillers); f++) {
			struct tool tool = {
				.name = tools[t], .profile = profile_find(tools[t]), .any = true};
			struct tool_refusal refusal;
			const char *deny = "x -y z";
			struct timespec from;
			struct timespec to;

			tool.deny.v = &deny;
			tool.deny.n = 1;
			for (size_t i = 0; i < n; i++) {
				argv[i] = (char *)fillers[f];
			}
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
			(void)tool_judge(&tool, (int)n, argv, &refusal);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
			if (to.tv_sec - from.tv_sec > 10) {
				fail_msg("%s %s ...: %ld s", tools[t], fillers[f],
					 (long)(to.tv_sec - from.tv_sec));
			}
		}
	}
	free(argv);
}

/* What the judge and the reader take for granted of the table. */
static void table_is_sound(void **state)
{
	static const enum profile_kind with_words[] = {PROFILE_ALLOW, PROFILE_CLOSED};
	const struct profile *p;

	(void)state;
	for (size_t i = 0; (p = profile_at(i)) != NULL; i++) {
		const struct profile_row *row = NULL;
		size_t options = 0;
		size_t refusals = 0;

		assert_ptr_equal(profile_find(p->name), p);
		assert_true(p->depth > 0 && p->help[0] != '\0');
		for (size_t k = 0; k < ARRAY_LEN(with_words); k++) {
			while ((row = profile_next(p, with_words[k], row)) != NULL) {
				struct match_pattern pattern;

				match_split(row->words, true, &pattern);
				assert_true(pattern.n > 0 && pattern.n < 8);
				assert_true(strlen(row->words) <= TOOL_PATTERN_MAX);
				if (with_words[k] == PROFILE_CLOSED && !pattern.tail) {
					fail_msg("%s: closed \"%s\" has no *", p->name, row->words);
				}
			}
		}
		while ((row = profile_next(p, PROFILE_OPTION, row)) != NULL) {
			options++;
			assert_true(row->letter != NULL || row->name != NULL);
			assert_true(row->letter == NULL || strlen(row->letter) == 2);
			assert_true(row->name == NULL || str_starts(row->name, "--"));
		}
		while ((row = profile_next(p, PROFILE_REFUSE, row)) != NULL) {
			refusals++;
			assert_true(row->letter != NULL || row->name != NULL);
			assert_true(row->letter == NULL || strlen(row->letter) == 2);
			assert_true(row->name == NULL || str_starts(row->name, "--"));
			assert_true(row->why[0] != '\0');
		}
		assert_true(options <= MATCH_ROWS_MAX && refusals <= MATCH_ROWS_MAX);
	}
	/* What is set of git's is counted right. */
	const struct profile_row *row = NULL;
	unsigned count = 0;
	unsigned keys = 0;
	unsigned values = 0;
	while ((row = profile_next(NULL, PROFILE_SET, row)) != NULL) {
		char name[32];

		if (str_eq(row->words, "GIT_CONFIG_COUNT")) {
			count = (unsigned)atoi(row->value);
		}
		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%u", keys);
		keys += str_eq(row->words, name) ? 1 : 0;
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%u", values);
		values += str_eq(row->words, name) ? 1 : 0;
	}
	assert_true(count > 0 && keys == count && values == count);
}

static void paths_of_the_table(void **state)
{
	static char *const env[] = {
		(char *)"KUBECONFIG=/a/b:/c//d:relative:", (char *)"XDG_CONFIG_HOME=/cfg/",
		(char *)"GH_CONFIG_DIR=relative", (char *)"SSH_AUTH_SOCK=/run/a:b", NULL};
	static const struct {
		const char *tool;
		enum profile_kind kind;
		const char *paths;
	} cases[] = {
		{"kubectl", PROFILE_READ, "/home/u/.kube;/a/b;/c/d;"},
		{"gh", PROFILE_READ, "/cfg/gh;/home/u/.gitconfig;/cfg/git;"},
		{"docker", PROFILE_WRITE, "/var/run/docker.sock;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_arena struct arena arena = {NULL};
		const struct profile_row *row = NULL;
		struct profile_paths paths = {.n = 0};
		char all[512] = "";

		while ((row = profile_next(profile_find(cases[i].tool), cases[i].kind, row)) !=
		       NULL) {
			profile_expand(row, "/home/u", env, &arena, &paths);
		}
		for (size_t p = 0; p < paths.n; p++) {
			strcat(strcat(all, paths.v[p]), ";");
		}
		assert_string_equal(all, cases[i].paths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_sound),
		cmocka_unit_test(paths_of_the_table),
		cmocka_unit_test(default_allows),
		cmocka_unit_test(default_refuses),
		cmocka_unit_test(closed_stays_closed),
		cmocka_unit_test(named_is_open),
		cmocka_unit_test(named_values_stand_alone),
		cmocka_unit_test(not_named_is_closed),
		cmocka_unit_test(hints_hold),
		cmocka_unit_test(patterns_of_an_unknown_tool),
		cmocka_unit_test(deny_beats_all),
		cmocka_unit_test(messages_are_printable),
		cmocka_unit_test(long_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
