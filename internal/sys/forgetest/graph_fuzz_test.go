package forgetest

import "testing"

// FuzzGraph: whatever is sent is read or refused, and what was read can be held against the types.
func FuzzGraph(f *testing.F) {
	for _, text := range []string{"{ viewer { login } }", `mutation($a: [ID!]! = ["x"]) { m(input: {a: -1, b: [$a, null, 2.5], c: E}) { ...x ... on T { y } } } fragment x on T { z: y }`,
		"{", "query q", "{ a(b: \"\\u00e9\") { c } } # end", "fragment x on T { ...x }"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseGraph(text)
		if err != nil && d.operations != nil {
			t.Errorf("%q: an error, and %+v", text, d)
		}
		if o, err := d.chosen(""); err == nil && o.sub == nil {
			t.Errorf("%q: nothing is asked for", text)
		}
	})
}
