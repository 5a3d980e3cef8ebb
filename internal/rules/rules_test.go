package rules

import "testing"

func TestBuiltinParses(t *testing.T) {
	s, err := Parse("rules.toml", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	text := s.TOML()
	again, err := Parse("canonical", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if again.TOML() != text {
		t.Errorf("the canonical table is not stable:\n%s\n%s", text, again.TOML())
	}
}
