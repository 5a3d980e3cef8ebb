package view

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// TestNothingOfAnOrderIsLeftOut: whatever an order that waits for a person has set, that person is shown.
func TestNothingOfAnOrderIsLeftOut(t *testing.T) {
	spawn := fleet.Registration{Argv: []string{"claude", "", "--x"}, Env: []string{"HOME"}, Heartbeat: &fleet.Heartbeat{}}
	v, left := reflect.ValueOf(&spawn).Elem(), []string{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch f.Type.Kind() {
		case reflect.String:
			v.Field(i).SetString("z" + name)
		case reflect.Bool:
			v.Field(i).SetBool(true)
		case reflect.Int, reflect.Int64:
			v.Field(i).SetInt(7)
		}
		if !slices.Contains(ofTheBook, name) && !v.Field(i).IsZero() {
			left = append(left, "start: "+name+": ")
		}
	}
	o := fleet.Order{Do: fleet.OrderSpawn, Agent: "a", Account: "acc", Text: "why so", Dialog: "d1", Instance: "i1", Command: true, Spawn: &spawn}
	said := strings.Join(Asked(o), "\n")
	for _, want := range append(left, `do: "spawn"`, `agent: "a"`, `account: "acc"`, `why: "why so"`, `to the dialog: "d1"`, `only to the instance: "i1"`, "command of the agent's CLI", `start: argv: ["claude", "", "--x"]`, `start: restart: "zrestart"`) {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not shown:\n%s", want, said)
		}
	}
	if said := strings.Join(Asked(fleet.Order{Do: fleet.OrderNudge, Agent: "a", Text: "a     b\x1b[2J\u202e"}), "\n"); !strings.Contains(said, `types: "a     b\x1b[2J\u202e"`) {
		t.Errorf("it is shown otherwise than it is: %s", said)
	}
}
