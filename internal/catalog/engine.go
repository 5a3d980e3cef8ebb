package catalog

import (
	"custos/internal/act"
	"custos/internal/act/dockerprune"
	"custos/internal/act/restartcontainer"
	"custos/internal/observe"
	"custos/internal/observe/containers"
	"custos/internal/sys/engine"
)

// containers is the section [containers], which the probe and two actions read.
func (w *World) containers() (containers.Options, error) {
	o := containers.Options{Home: w.Config.Home, Inside: w.From.Container}
	if err := w.Config.Section("containers", &o); err != nil {
		return o, err
	}
	key, err := o.Check()
	if err != nil {
		err = w.wrong("containers", key, err)
	}
	return o, err
}

func newContainers(w *World) (observe.Probe, error) {
	o, err := w.containers()
	if err != nil {
		return nil, err
	}
	return containers.New(o)
}

// engineMakers lists the actions on containers and their engine.
func engineMakers() []actionMaker {
	return []actionMaker{
		{restartcontainer.Do, "containers", newRestartContainer},
		{dockerprune.Do, "containers", newImagePrune},
		{dockerprune.DoCache, "containers", newCachePrune},
	}
}

// engine is the engine that may be written to; nil, and why, when there is to be none.
func (w *World) engine() (e *engine.Writer, o containers.Options, without string, err error) {
	if o, err = w.containers(); err != nil {
		return nil, o, "", err
	}
	address, err := o.Address()
	if err != nil {
		return nil, o, "", err
	}
	if address == "" {
		return nil, o, `custos.toml says that there is no container engine: [containers] socket = "none"`, nil
	}
	e, err = engine.NewWriter(address)
	return e, o, "", err
}

func newRestartContainer(w *World) (act.Action, error) {
	e, _, without, err := w.engine()
	if err != nil {
		return nil, err
	}
	o := restartcontainer.Options{Without: without}
	if e != nil {
		o.Engine = e
	}
	return restartcontainer.New(o)
}

func newImagePrune(w *World) (act.Action, error) {
	o, section, err := w.pruning()
	if err != nil {
		return nil, err
	}
	o.Allowed = section.Prune
	return dockerprune.New(o)
}

func newCachePrune(w *World) (act.Action, error) {
	o, section, err := w.pruning()
	if err != nil {
		return nil, err
	}
	o.Allowed = section.PruneCache
	return dockerprune.NewCache(o)
}

func (w *World) pruning() (dockerprune.Options, containers.Options, error) {
	e, section, without, err := w.engine()
	o := dockerprune.Options{Without: without}
	if e != nil {
		o.Engine = e
	}
	return o, section, err
}
