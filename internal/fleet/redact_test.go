package fleet_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// planted are secrets that Custos has to know by their shape, wherever they stand.
var planted = []string{
	"glpat-AbCdEf0123456789_-xY", "npm_AbCdEf0123456789AbCdEf0123456789AbCd", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
	"SG.AbCdEfGhIjKlMnOpQrSt12.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG", "dckr_pat_AbCdEfGhIjKlMnOpQrStUvWxYz0",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
	"ghp_AbCdEf0123456789AbCdEf0123456789AbCd", "github_pat_11ABCDEFG0AbCdEf0123456789_AbCdEf", "sk-ant-api03-AbCdEf0123456789",
	"sk_live_AbCdEf0123456789", "xoxb-1234567890-AbCdEf0123", "AKIAIOSFODNN7EXAMPLE", "AIzaSyAbCdEf0123456789AbCdEf0123456789A",
	"1234567890:AAbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "syt_Y3VzdG9z_AbCdEfGhIjKlMnOpQrSt_0AbCdE", "pypi-AgEIcHlwaS5vcmcCJAbCdEf0123456789",
	"hvs.AbCdEfGhIjKlMnOpQrStUvWx", "gsk_AbCdEf0123456789AbCdEf", "ya29.AbCdEf0123456789AbCdEf",
}

// told are words that hold hunter2-pass as a secret by what stands before it.
var told = []string{
	"--password hunter2-pass", "curl --api-key 'hunter2-pass' x", "FORGE_TOKEN=hunter2-pass", `{"client_secret": "hunter2-pass"}`,
	`{\"password\": \"hunter2-pass\"}`, "password: hunter2-pass", `password = "a hunter2-pass of words"`, "Authorization: Bearer hunter2-pass",
	"https://me:hunter2-pass@host/x", "https://hunter2-pass-hunter2-pass@host/x", "Cookie: a=b; session=hunter2-pass", "AWS_SECRET_ACCESS_KEY=hunter2-pass",
	"-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2-pass\n-----END OPENSSH PRIVATE KEY-----", "https://x.example/?access_token=hunter2-pass&a=b",
	"DB_PASS=hunter2-pass", "mysql_pwd: hunter2-pass", "curl -u admin:hunter2-pass http://x", "curl -sSu 'admin:hunter2-pass' x", "curl --user admin:hunter2-pass", "mysql -phunter2-pass", "mysqldump -h db -u me -p'hunter2-pass' shop",
	"sshpass -p hunter2-pass ssh x", "redis-cli -h x -a hunter2-pass", "PASSPHRASE='hunter2-pass'", "--token=hunter2-pass",
}

func TestRedactKnowsSecrets(t *testing.T) {
	for _, secret := range planted {
		for _, format := range []string{"%s", "fix_%s", "feature/%s/x", "use %s, please", "(%s)", "'%s'", "A=%s", "x\n%s\ny", "\t%s…"} {
			if in := fmt.Sprintf(format, secret); strings.Contains(fleet.Redact(in), secret) {
				t.Errorf("Redact(%q) = %q", in, fleet.Redact(in))
			}
		}
	}
	for _, in := range told {
		if got := fleet.Redact(in); strings.Contains(got, "hunter2-pass") {
			t.Errorf("Redact(%q) = %q", in, got)
		}
	}
	for _, between := range []string{" ", ":", "\t", "\n", `", "`, ", "} { // a secret of AWS looks like nothing by itself: beside its key it is known
		in := "AKIAIOSFODNN7EXAMPLE" + between + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
		if got := fleet.Redact(in); strings.Contains(got, "K7MDENG") {
			t.Errorf("Redact(%q) = %q", in, got)
		}
	}
	for _, args := range [][]string{{"mysql", "--password", "hunter2-pass"}, {"curl", "-u", "me:hunter2-pass", "x"}, {"sh", "-c", "x --secret hunter2-pass"}, {"-token", "hunter2-pass"}, {"/usr/bin/mysql", "-phunter2-pass"}, {"sshpass", "-p", "hunter2-pass", "ssh"}, {"redis-cli", "-a", "hunter2-pass"}} {
		if got := fleet.RedactArgs(args); strings.Contains(strings.Join(got, " "), "hunter2-pass") {
			t.Errorf("RedactArgs(%q) = %q", args, got)
		}
	}
}

// What counts tokens, and ordinary words, stay.
func TestRedactLeavesTheRest(t *testing.T) {
	for _, in := range []string{
		"input_tokens=1234", `{"input_tokens": 1234, "output_tokens":5}`, "cache_read_input_tokens: 12", "--max-tokens 4096", "total_tokens=1.2k", "max_token=10",
		"tokens > 100000", "a.tokens == 5", "tokens: 12", "the password is wrong", "task-12345678 is done", "cannot read token", "https://host/a/b@c",
		"git@github.com:a/b.git", "ssh://git@host/x", "sha256:0123456789abcdef", "/home/me/src/tokens/main.go", "--token-limit=5000", "eyJ is a beginning", "a 12:AB b",
		"--- PASS: TestX (0.00s)", "pass: 3", "a two-pass: compiler", "did_pass: true", "mysql -p shop", "mysql -h db -P 3306", "mkdir -p a && mysql x", "curl -u admin http://x:80/", "docker run -u 1000:1000 x", "git log -p a", "cp -u a b:c", "npm_config_cache", "12 tokens, 3 secrets", "refs/custos/backup/x/20260101T000000Z",
	} {
		if got := fleet.Redact(in); got != in {
			t.Errorf("Redact(%q) = %q", in, got)
		}
	}
	if got := strings.Join(fleet.RedactArgs([]string{"claude", "--max-tokens", "4096"}), " "); got != "claude --max-tokens 4096" {
		t.Errorf("RedactArgs = %q", got)
	}
	table, err := os.ReadFile("../rules/rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	if got := fleet.Redact(string(table)); got != string(table) {
		t.Error("the rule table, which a recording holds, is not what it was")
	}
}

func FuzzRedact(f *testing.F) {
	for i, s := range planted {
		f.Add("before ", s, i%2 == 0)
	}
	f.Add("\"'=", "--password x", true)
	f.Fuzz(func(t *testing.T, around, words string, quoted bool) {
		for _, secret := range planted {
			in := around + " " + secret + " " + words
			if quoted {
				in = words + "\"" + secret + "\"" + around
			}
			got := fleet.Redact(in)
			if strings.Contains(got, secret) {
				t.Fatalf("Redact(%q) = %q", in, got)
			}
			if again := fleet.Redact(got); again != got {
				t.Fatalf("Redact(%q) = %q, and again %q", in, got, again)
			}
		}
	})
}
