"""PPO of Ray RLlib on our lanes and with our network: for more machines than one."""
