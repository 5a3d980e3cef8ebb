package fleet

import (
	"regexp"
	"strings"
)

// secretWord is what the name of a secret holds.
const secretWord = `(?:token|secret|passw(?:or)?d|passwd|passphrase|credential|authorization|(?:api|access|account|private|auth|signing|encryption)[_-]?key)`

var (
	// named is a secret that has a name: NAME=value, "name": "value", Name: scheme value.
	named = regexp.MustCompile(`(?i)([a-z0-9_-]*` + secretWord + `[a-z0-9_-]*|[a-z0-9_-]*_(?:pass|pwd))(\\?["']?\s*(?:=>|:=|[=:])\s*(?:bearer\s+|basic\s+|token\s+|digest\s+)?)("(?:[^"\\]|\\.)*"|'[^']*'|\\"[^"\\]*\\?"?|[^\s"',;=]["']?[^\s"',;]*)`)
	// flagged is a secret that follows a flag with its name.
	flagged = regexp.MustCompile(`(?i)((?:^|[\s"'` + "`" + `])--?)([a-z0-9_-]*` + secretWord + `[a-z0-9_-]*)(\s+)("[^"]*"|'[^']*'|[^\s"']+)`)
	// cookies are secrets whole.
	cookies = regexp.MustCompile(`(?i)(\b(?:set-)?cookie:\s*)([^"'\r\n]+)`)
	bearer  = regexp.MustCompile(`(?i)(\bbearer\s+)([a-z0-9._~+/=-]{8,})`)
	// inURL is a password, or a name as long as a token, before the host of a URL.
	inURL = regexp.MustCompile(`(://)(?:([^/\s:@]*:)[^/\s@]+|[^/\s:@]{20,})(@)`)
)

// shapes are tokens that are known by how they begin, as their issuers document them.
var shapes = regexp.MustCompile(`(^|[^A-Za-z0-9])(?:` + strings.Join([]string{
	`sk-[A-Za-z0-9_-]{8,}`, `(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}`, `whsec_[A-Za-z0-9+/=]{16,}`, // OpenAI, Anthropic; Stripe
	`gh[pousr]_[A-Za-z0-9]{16,}`, `github_pat_[A-Za-z0-9_]{16,}`, // GitHub
	`gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{16,}`, `GR1348941[A-Za-z0-9_-]{16,}`, // GitLab
	`xox[abceoprs]-[A-Za-z0-9-]{8,}`, `xapp-[A-Za-z0-9-]{8,}`, `hooks\.slack\.com/services/[A-Za-z0-9/_-]{16,}`, // Slack
	`(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?:[\s:,"']{1,8}[A-Za-z0-9+/]{40}\b)?`, // AWS, and the secret that is told with it
	`AIza[0-9A-Za-z_-]{30,}`, `ya29\.[A-Za-z0-9_-]{16,}`, `GOCSPX-[A-Za-z0-9_-]{16,}`, // Google
	`npm_[A-Za-z0-9]{16,}`, `pypi-[A-Za-z0-9_-]{16,}`, `rubygems_[a-f0-9]{16,}`, `hf_[A-Za-z0-9]{16,}`, `r8_[A-Za-z0-9]{16,}`, // registries, models
	`SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, `dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}`, `dop_v1_[a-f0-9]{16,}`, `dapi[a-f0-9]{32}`, // SendGrid, Docker, DigitalOcean, Databricks
	`gsk_[A-Za-z0-9]{16,}`, `xai-[A-Za-z0-9]{16,}`, `pplx-[A-Za-z0-9]{16,}`, `lin_api_[A-Za-z0-9]{16,}`, `ntn_[A-Za-z0-9]{16,}`, // Groq, xAI, Perplexity, Linear, Notion
	`hv[sbr]\.[A-Za-z0-9_-]{16,}`, `ATATT3[A-Za-z0-9_=-]{16,}`, `tskey-[A-Za-z0-9-]{8,}`, `shpat_[a-f0-9]{16,}`, // Vault, Atlassian, Tailscale, Shopify
	`syt_[A-Za-z0-9_]{16,}`, `[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`, `AGE-SECRET-KEY-1[A-Z0-9]{16,}`, // Matrix, Telegram, age
	`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`, // JSON web tokens
}, "|") + `)`)

// countOf says whether a name with "token" in it counts them: input_tokens,
// --max-tokens, tokenLimit. Its figure is no secret.
var countOf = regexp.MustCompile(`(?i)(?:tokens|tokens?[_-]?(?:count|limit|usage|used|budget|total|left|max|min|per[a-z_-]*))$|^(?:max|min|num|total)[_-]?token`)

var figure = regexp.MustCompile(`^["']?[<>=~]*[0-9][0-9._,]*[kKmMgGbB%]?["']?[)\]}.]*$`)

func counts(name, value string) bool {
	return countOf.MatchString(strings.TrimLeft(name, "-")) && figure.MatchString(value)
}

// Redact replaces what looks like a secret by ***. An expression is only tried on a text that
// has one of the words that each of its matches has: screens are redacted while somebody looks,
// and tried on all of them they took longer than drawing.
func Redact(s string) string {
	has := hints(s)
	s = hideKeys(s)
	if has("cookie") {
		s = cookies.ReplaceAllString(s, "${1}***")
	}
	if strings.Contains(s, "://") {
		s = inURL.ReplaceAllString(s, "${1}${2}***${3}")
	}
	if has(secretHints...) {
		s = replace(named, s, func(m []string) string {
			if counts(m[1], m[3]) || strings.EqualFold(m[3], "true") || strings.EqualFold(m[3], "false") {
				return m[0]
			}
			return m[1] + m[2] + masked(m[3])
		})
		s = replace(flagged, s, func(m []string) string {
			if counts(m[2], m[4]) || strings.HasPrefix(m[4], "-") {
				return m[0]
			}
			return m[1] + m[2] + m[3] + masked(m[4])
		})
	}
	if has(programs...) {
		s = given.ReplaceAllString(s, "${1}${2}${3}${4}***")
	}
	if has("bearer") {
		s = bearer.ReplaceAllString(s, "${1}***")
	}
	return shapes.ReplaceAllString(s, "${1}***")
}

// secretHints are in each name of a secret.
var secretHints = []string{"token", "secret", "passw", "passphrase", "credential", "authorization", "key", "_pass", "_pwd"}

// programs take a password with a flag that does not say so.
var programs = []string{"curl", "mysql", "mariadb", "sshpass", "redis-cli"}

// given is such a password. It is looked for in one line, up to where the next command begins.
var given = regexp.MustCompile(`(\bcurl\b[^\n|;&]*?\s(?:-[a-zA-Z]*[uU]\s*|--(?:proxy-)?user[ =]\s*)["']?[^\s:"']*:)[^\s"']+` +
	`|(\b(?:mysql|mariadb)[a-z-]*\b[^\n|;&]*?\s-p)(?:"[^"\n]*"|'[^'\n]*'|[^\s"'|;&]+)` +
	`|(\bsshpass\s+-p\s*)[^\s|;&]+` +
	`|(\bredis-cli\b[^\n|;&]*?\s-a\s+)[^\s|;&]+`)

// MayName says whether a text may have the name of a secret, so that what comes after it is
// one. It says so of many that have none.
func MayName(s string) bool {
	has := hints(s)
	return has(secretHints...) || has("cookie", "bearer")
}

// hints says whether a text has one of some words, in whatever case. One with a letter beyond
// ASCII that stands for one of theirs is taken to have all.
func hints(s string) func(words ...string) bool {
	if strings.ContainsAny(s, "\u017f\u212a") {
		return func(...string) bool { return true }
	}
	lower := strings.ToLower(s)
	return func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(lower, w) {
				return true
			}
		}
		return false
	}
}

// replace gives each match's groups to f.
func replace(re *regexp.Regexp, s string, f func(groups []string) string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string { return f(re.FindStringSubmatch(m)) })
}

// masked is a value's place, with its quotes.
func masked(value string) string {
	for _, quote := range []string{`\"`, `"`, `'`} {
		if strings.HasPrefix(value, quote) {
			return quote + "***" + quote
		}
	}
	return "***"
}

// RedactArgs redacts a command line, argument by argument; the value that
// follows a flag with a secret's name is redacted too. Each argument is made
// safe to show and cut to 200 runes, the whole to 32 arguments.
func RedactArgs(args []string) []string {
	out := make([]string, 0, min(len(args), 32))
	for i, a := range args[:min(len(args), 32)] {
		if i > 0 {
			a = redactIn(args[0], args[i-1], a)
		}
		out = append(out, Line(Redact(a), 200))
	}
	return out
}

// redactIn hides an argument that is a password to a program.
func redactIn(program, before, a string) string {
	name := program[strings.LastIndex(program, "/")+1:]
	switch {
	case (strings.HasPrefix(name, "mysql") || strings.HasPrefix(name, "mariadb")) && strings.HasPrefix(a, "-p") && len(a) > len("-p"):
		return "-p***"
	case name == "sshpass" && before == "-p", name == "redis-cli" && before == "-a":
		return "***"
	}
	return redactAfter(before, a)
}

// redactAfter hides an argument that is the value of the flag before it.
func redactAfter(before, a string) string {
	switch {
	case secretFlag.MatchString(before) && !counts(before, a):
		return "***"
	case (before == "-u" || before == "--user") && strings.Contains(a, ":"): // curl's user:password
		return "***"
	}
	return a
}

var secretFlag = regexp.MustCompile(`(?i)^--?[a-z0-9_-]*` + secretWord + `[a-z0-9_-]*$`)

// secretKey is the key of a secret in a map whose keys are not ours.
var secretKey = regexp.MustCompile(`(?i)` + secretWord + `|_(?:pass|pwd)$`)

// RedactValue redacts a text by what it is, by the key that it has, and by the text
// before it in its list; "" for none.
func RedactValue(key, before, s string) string {
	if s != "" && secretKey.MatchString(key) && !counts(key, s) {
		return "***"
	}
	return Redact(redactAfter(before, s))
}
