package agent

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// finishKeys refuses keys that could not be pressed when they are needed.
func (k *Kind) finishKeys() error {
	for where, keys := range map[string][]string{"interrupt": k.Interrupt, "exit": k.Exit, "composer: clear": k.Composer.Clear} {
		if err := pressable(where, keys); err != nil {
			return err
		}
	}
	for _, d := range k.Dialogs {
		for _, c := range d.Choice {
			if err := pressable("keys of choice "+c.Name+" of dialog "+d.ID, strings.Split(strings.ReplaceAll(strings.Join(c.Keys, "\n"), "{n}", "1"), "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

func pressable(where string, keys []string) error {
	for _, key := range keys {
		if !fleet.IsPressable(key) {
			known := fleet.PressableKeys()
			return fmt.Errorf("%s: %q is no key that may be pressed%s: those that may are %s", where, key, nearest.Hint(key, known), strings.Join(known, ", "))
		}
	}
	return nil
}
