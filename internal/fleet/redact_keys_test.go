package fleet_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"

	"pgregory.net/rapid"
)

const base64s = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// key is a private key: its first line, its body, its last line.
type key struct {
	first, last string
	body        []string
}

func anyKey(t *rapid.T) key {
	kind := rapid.SampledFrom([]string{"OPENSSH PRIVATE KEY", "RSA PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}).Draw(t, "kind")
	k := key{first: "-----BEGIN " + kind + "-----", last: "-----END " + kind + "-----"}
	width := rapid.SampledFrom([]int{64, 70, 76}).Draw(t, "width")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) // a key is at random: rapid would draw zeros
	for range rapid.IntRange(3, 60).Draw(t, "lines") {
		var b strings.Builder
		for range width {
			b.WriteByte(base64s[random.IntN(64)])
		}
		k.body = append(k.body, b.String())
	}
	return k
}

// ordinary are lines that stay, whatever is around them.
var ordinary = []string{"", "$ ls", "plain words here", "d94c1d02a7c6c1b6f0a6b9e3b9f4c6cf6c5ad7bd", "1788c30a What an agent tells", "internal/fleet/redact.go"}

// Whatever of a key is in sight, with its first or its last line or three lines of its middle,
// as it is printed, listed, quoted or framed, in whatever width, none of its body is shown.
func TestNoPartOfAKeyIsShown(t *testing.T) {
	forms := map[string]string{"plain": "%s", "indented": "    %s", "framed": "│ %s │", "quoted": "> %s", "a text in code": `"%s\n" +`}
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t)
		lines := append(append([]string{k.first}, k.body...), k.last)
		form := forms[rapid.SampledFrom(slices.Sorted(maps.Keys(forms))).Draw(t, "form")]
		for i, l := range lines {
			if lines[i] = fmt.Sprintf(form, l); rapid.Bool().Draw(t, "listed") && form == "%s" {
				lines[i] = fmt.Sprintf("%4d  %s", i, l)
			}
		}
		from := rapid.IntRange(0, len(k.body)-2).Draw(t, "from")
		to := rapid.IntRange(from+3, len(lines)).Draw(t, "to")
		before := rapid.SliceOfN(rapid.SampledFrom(ordinary), 0, 3).Draw(t, "before")
		shown := slices.Concat(before, lines[from:to])
		got := strings.Join(fleet.RedactWrapped(shown, fleet.Redact), "\n")
		got = fleet.Redact(got)
		for _, l := range k.body {
			if strings.Contains(got, l) {
				t.Fatalf("of %d lines from %d to %d this is shown:\n%s", len(lines), from, to, got)
			}
		}
		if again := fleet.Redact(got); again != got {
			t.Fatalf("redacted again %q is %q", got, again)
		}
	})
}

// A terminal that is narrower than a key breaks its lines.
func TestNoPartOfABrokenKeyIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t)
		width := rapid.IntRange(40, 60).Draw(t, "width")
		var shown []string
		for _, l := range k.body {
			for ; len(l) > width; l = l[width:] {
				shown = append(shown, l[:width])
			}
			shown = append(shown, l)
		}
		got := fleet.Redact(strings.Join(fleet.RedactWrapped(shown, fleet.Redact), "\n"))
		for _, l := range shown {
			if len(l) >= 16 && strings.Contains(got, l) {
				t.Fatalf("%d columns wide, this is shown:\n%s", width, got)
			}
		}
	})
}

// Hashes, names and paths below each other are no key, and a certificate is public.
func TestWhatIsNoKeyStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		size := rapid.SampledFrom([]int{40, 64, 128}).Draw(t, "size")
		digits := rapid.SampledFrom([]string{"0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz234567"}).Draw(t, "digits")
		form := rapid.SampledFrom([]string{"%s", "commit %s", "%s  file", "│ %s", "sha256:%s"}).Draw(t, "form")
		var lines []string
		for range rapid.IntRange(3, 20).Draw(t, "lines") {
			var b strings.Builder
			for range size {
				b.WriteByte(digits[random.IntN(len(digits))])
			}
			lines = append(lines, fmt.Sprintf(form, b.String()))
		}
		if in := strings.Join(lines, "\n"); fleet.Redact(in) != in {
			t.Fatalf("%q is %q", in, fleet.Redact(in))
		}
	})
	for _, in := range []string{
		"internal/terminal/testdata/Frame00000001\ninternal/terminal/testdata/Frame00000002\ninternal/terminal/testdata/Frame00000003",
		"TestTheCursorIsShownWhereItIsAtWidth80\nTestARedactorFindsWhatRedactDoesInAll2\nTestASecretIsHiddenAlsoWhereItsColours1",
		"====================\n====================\n====================",
		"/home/me/src/Project1/target/debug/deps/libX1\n/home/me/src/Project1/target/debug/deps/libX2\n/home/me/src/Project1/target/debug/deps/libX3",
		"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\nRTESMBAGA1UEChMJQmFsdGltb3JlMRMwEQYDVQQLEwpDeWJlclRydXN0MSIwIAYD\n" +
			"VQQDExlCYWx0aW1vcmUgQ3liZXJUcnVzdCBSb290MB4XDTAwMDUxMjE4NDYwMFoX\n-----END CERTIFICATE-----",
	} {
		if got := fleet.Redact(in); got != in {
			t.Errorf("%q is %q", in, got)
		}
	}
}

// An end without its beginning hides what is above it.
func TestAKeyThatIsLongerThanTheScreen(t *testing.T) {
	var all []string
	for i := range 48 {
		all = append(all, fmt.Sprintf("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2%02d", i))
	}
	for name, shown := range map[string][]string{"its end in sight": append(slices.Clone(all), "-----END OPENSSH PRIVATE KEY-----"), "no end in sight": all, "two lines and the end": append(all[:2:2], "-----END RSA PRIVATE KEY-----", "$ ")} {
		got := fleet.Redact(strings.Join(fleet.RedactWrapped(shown, fleet.Redact), "\n"))
		if strings.Contains(got, "b3Blbn") || name == "two lines and the end" && got != "***\n$ " {
			t.Errorf("%s: %s", name, got)
		}
	}
}
