"""On which versions or builds of TVM does a finding fail?"""
